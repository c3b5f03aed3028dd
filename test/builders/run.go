package builders

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// Commit is a full commit id made of one hex digit.
func Commit(digit string) string { return strings.Repeat(digit, 40) }

// The commits of every built run.
var (
	BaseCommit           = Commit("a")
	RegressionTestCommit = Commit("b")
	CandidateCommit      = Commit("c")
)

// RegressionTarget is the regression test's file in every built run.
const RegressionTarget = "test/regression.test.js"

// RunBuilder builds a ZTRun.
type RunBuilder struct{ run v1alpha1.ZTRun }

// Run is a run in namespace team-a of profile default, with its bundle in the
// ConfigMap named after it.
func Run(name string) *RunBuilder {
	b := &RunBuilder{}
	b.run.Namespace, b.run.Name = "team-a", name
	b.run.Spec = v1alpha1.ZTRunSpec{
		ProfileRef: v1alpha1.ObjectRef{Name: "default"},
		Source: v1alpha1.Source{Bundle: &v1alpha1.BundleSource{
			ConfigMapRef: v1alpha1.ConfigMapKeyRef{Name: name, Key: v1alpha1.DefaultBundleKey},
		}},
		Proof: v1alpha1.Proof{
			Mode:           v1alpha1.RegressionProof,
			Base:           v1alpha1.TreeRef{Commit: BaseCommit},
			RegressionTest: v1alpha1.TreeRef{Commit: RegressionTestCommit},
			Candidate:      v1alpha1.TreeRef{Commit: CandidateCommit},
			Targets:        []v1alpha1.TargetPath{RegressionTarget},
		},
	}
	return b
}

// Namespace puts the run into another namespace.
func (b *RunBuilder) Namespace(namespace string) *RunBuilder { b.run.Namespace = namespace; return b }

// UID gives the run a UID.
func (b *RunBuilder) UID(uid types.UID) *RunBuilder { b.run.UID = uid; return b }

// Created gives the run a creation time.
func (b *RunBuilder) Created(at time.Time) *RunBuilder {
	b.run.CreationTimestamp = metav1.NewTime(at)
	return b
}

// Profile names another profile.
func (b *RunBuilder) Profile(name string) *RunBuilder { b.run.Spec.ProfileRef.Name = name; return b }

// Policy names a policy.
func (b *RunBuilder) Policy(name string) *RunBuilder {
	b.run.Spec.PolicyRef = &v1alpha1.ObjectRef{Name: name}
	return b
}

// Suspended holds the run.
func (b *RunBuilder) Suspended() *RunBuilder { b.run.Spec.Suspend = true; return b }

// TTL lets the run expire.
func (b *RunBuilder) TTL(seconds int32) *RunBuilder {
	b.run.Spec.TTLSecondsAfterFinished = ptr.To(seconds)
	return b
}

// RunSeconds narrows the run's time limit.
func (b *RunBuilder) RunSeconds(seconds int32) *RunBuilder {
	b.run.Spec.Limits = &v1alpha1.RunLimits{RunSeconds: ptr.To(seconds)}
	return b
}

// Finalizer is on the run as the operator puts it there.
func (b *RunBuilder) Finalizer() *RunBuilder {
	b.run.Finalizers = []string{v1alpha1.TeardownFinalizer}
	return b
}

// Object returns the run.
func (b *RunBuilder) Object() *v1alpha1.ZTRun { return b.run.DeepCopy() }
