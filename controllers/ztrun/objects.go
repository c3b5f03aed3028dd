package ztrun

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// Names of the objects of an attempt beside its pods; see name.
const (
	objectMirrorConfig = "mirror"
	objectSquidConfig  = "squid"
	objectSquidCA      = "squid-ca"
)

// name is the name of one of the current attempt's objects in the run namespace.
func (s *scope) name(part string) string {
	return fmt.Sprintf("ztr-%s-%d-%s", s.run.UID, s.attempt(), part)
}

// labels are what teardown and the NetworkPolicies find an object by.
func (s *scope) labels(role string) map[string]string {
	return map[string]string{
		"app.kubernetes.io/managed-by": "zt-operator",
		v1alpha1.RunUIDLabel:           string(s.run.UID),
		v1alpha1.AttemptLabel:          strconv.Itoa(int(s.attempt())),
		v1alpha1.RoleLabel:             role,
	}
}

// meta is the metadata of one of the attempt's objects. The annotations lead back
// to the run, which an owner reference cannot do across namespaces.
func (r *Reconciler) meta(s *scope, part, role string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: r.RunNamespace,
		Name:      s.name(part),
		Labels:    s.labels(role),
		Annotations: map[string]string{
			v1alpha1.RunNamespaceAnnotation: s.run.Namespace,
			v1alpha1.RunNameAnnotation:      s.run.Name,
		},
	}
}

// runObjectLists are the kinds an attempt has objects of, in the order they are
// torn down: pods first, what confines them last.
func runObjectLists() []client.ObjectList {
	return []client.ObjectList{
		&corev1.PodList{},
		&corev1.ServiceList{},
		&corev1.SecretList{},
		&corev1.ConfigMapList{},
		&networkingv1.NetworkPolicyList{},
	}
}

// ensure returns the object of desired's name, creating it if there is none. What
// exists is left as it is: an attempt's objects never change. condition is the one
// that waits if the API server refuses the object.
func ensure[T client.Object](ctx context.Context, r *Reconciler, condition string, desired T) (T, error) {
	existing, ok := desired.DeepCopyObject().(T)
	if !ok {
		return desired, fmt.Errorf("copy %T: not of its own type", desired)
	}
	found, err := r.read(ctx, client.ObjectKeyFromObject(desired), existing)
	if err != nil {
		return desired, fmt.Errorf("read %s: %w", desired.GetName(), err)
	}
	if found {
		return existing, nil
	}
	switch err := r.Client.Create(ctx, desired); {
	case err == nil:
		return desired, nil
	case apierrors.IsAlreadyExists(err):
		return desired, hold(condition, v1alpha1.DetailRunning, settle, "%s was just created", desired.GetName())
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err):
		// A quota, an admission policy: shown, and tried again until a bound runs out.
		return desired, &rejected{condition: condition, err: err}
	default:
		return desired, fmt.Errorf("create %s: %w", desired.GetName(), err)
	}
}

// rejected is an object that the API server would not have.
type rejected struct {
	condition string
	err       error
}

func (e *rejected) Error() string { return fmt.Sprintf("the API server refused: %v", e.err) }
func (e *rejected) Unwrap() error { return e.err }
