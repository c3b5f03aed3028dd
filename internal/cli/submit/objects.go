package submit

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// MaxBundleBytes is the most a ConfigMap may hold (core.MaxSecretSize of the
// Kubernetes API server).
const MaxBundleBytes = 1 << 20

// RunLabel is on the ConfigMap of a run and carries the run's name.
const RunLabel = "zt.ai-dossier.org/run"

// Request is a run as the user asked for it, with every revision resolved.
type Request struct {
	Name, Namespace                 string
	Base, RegressionTest, Candidate string
	Targets                         []string
	Profile                         string
	// Policy may be empty: then the profile's applies.
	Policy string
	// TTLSeconds after which a completed run is deleted; nil keeps it.
	TTLSeconds *int32
	// Session and SessionEvent may be empty.
	Session, SessionEvent string
	Bundle                []byte
}

// TooLargeError says that a bundle does not fit into a ConfigMap.
type TooLargeError struct{ Bytes int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the git bundle of these commits and their history is %d KiB, expected at most %d KiB (the limit of a ConfigMap): "+
		"submit from a repository with a shorter history, such as an orphan branch that holds only these commits",
		(e.Bytes+1023)/1024, MaxBundleBytes/1024)
}

// Objects returns the ConfigMap with the bundle and the ZTRun that names it. The
// error is a *TooLargeError if the bundle does not fit.
func (r Request) Objects() (*corev1.ConfigMap, *v1alpha1.ZTRun, error) {
	if len(r.Bundle) > MaxBundleBytes {
		return nil, nil, &TooLargeError{Bytes: len(r.Bundle)}
	}
	immutable := true
	cm := &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name: r.Name + "-source", Namespace: r.Namespace,
			Labels: map[string]string{RunLabel: r.Name, "app.kubernetes.io/managed-by": "kubectl-zt"},
		},
		Immutable:  &immutable,
		BinaryData: map[string][]byte{v1alpha1.DefaultBundleKey: r.Bundle},
	}
	run := &v1alpha1.ZTRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ZTRun"},
		ObjectMeta: metav1.ObjectMeta{Name: r.Name, Namespace: r.Namespace},
		Spec: v1alpha1.ZTRunSpec{
			ProfileRef: v1alpha1.ObjectRef{Name: r.Profile},
			Source: v1alpha1.Source{Bundle: &v1alpha1.BundleSource{
				ConfigMapRef: v1alpha1.ConfigMapKeyRef{Name: cm.Name, Key: v1alpha1.DefaultBundleKey},
			}},
			Proof: v1alpha1.Proof{
				Mode:           v1alpha1.RegressionProof,
				Base:           v1alpha1.TreeRef{Commit: r.Base},
				RegressionTest: v1alpha1.TreeRef{Commit: r.RegressionTest},
				Candidate:      v1alpha1.TreeRef{Commit: r.Candidate},
			},
			TTLSecondsAfterFinished: r.TTLSeconds,
		},
	}
	if r.Session != "" {
		run.Labels = map[string]string{v1alpha1.SessionLabel: r.Session}
	}
	if r.SessionEvent != "" {
		run.Annotations = map[string]string{v1alpha1.SessionEventAnnotation: r.SessionEvent}
	}
	if r.Policy != "" {
		run.Spec.PolicyRef = &v1alpha1.ObjectRef{Name: r.Policy}
	}
	for _, target := range r.Targets {
		run.Spec.Proof.Targets = append(run.Spec.Proof.Targets, v1alpha1.TargetPath(target))
	}
	return cm, run, nil
}
