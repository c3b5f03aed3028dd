package ztrun

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/controllers/internal/baked"
	"github.com/ai-dossier/zt-operator/internal/policy"
)

// suspend holds a run that is not placed. A vm pod that still waits for room is
// given back.
func (r *Reconciler) suspend(ctx context.Context, s *scope) (ctrl.Result, error) {
	if _, err := r.deleteObjects(ctx, s.run.UID); err != nil {
		return ctrl.Result{}, err
	}
	if t := s.run.Status.Timings; t != nil && t.Admitted != nil {
		t.Admitted = nil
	}
	return ctrl.Result{}, &waiting{
		condition: v1alpha1.ConditionAdmitted, detail: v1alpha1.DetailSuspended, unknown: true,
		message: "spec.suspend is true; set it to false to let the run start",
	}
}

// admit checks that the cluster can take the run. A placed run is not asked again:
// a profile or policy that changes under it concerns the next run.
func (r *Reconciler) admit(ctx context.Context, s *scope) (ctrl.Result, error) {
	if err := r.loadProfile(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.loadPolicy(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	if s.placed() {
		return ctrl.Result{}, nil
	}
	if err := r.checkNetwork(s); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.checkCABundle(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	if err := checkBaked(s); err != nil {
		return ctrl.Result{}, err
	}
	if t := s.timings(); t.Admitted == nil {
		t.Admitted = s.moment()
	}
	return ctrl.Result{}, nil
}

func (r *Reconciler) loadProfile(ctx context.Context, s *scope) error {
	name := s.run.Spec.ProfileRef.Name
	profile := &v1alpha1.ZTProfile{}
	found, err := r.read(ctx, types.NamespacedName{Name: name}, profile)
	switch {
	case err != nil:
		return fmt.Errorf("read profile %s: %w", name, err)
	case found:
		s.profile = profile
	case !s.placed():
		return refuse(v1alpha1.ResultNotAdmitted, v1alpha1.DetailUnknownProfile, name,
			"there is no ZTProfile %q; create it, or name one that exists in spec.profileRef", name)
	}
	return nil
}

// policyName is the run's policy, else its profile's.
func (s *scope) policyName() string {
	switch {
	case s.run.Spec.PolicyRef != nil:
		return s.run.Spec.PolicyRef.Name
	case s.profile != nil:
		return s.profile.Spec.Proxy.PolicyRef.Name
	default:
		return ""
	}
}

func (r *Reconciler) loadPolicy(ctx context.Context, s *scope) error {
	name := s.policyName()
	found := &v1alpha1.ProxyPolicy{}
	ok, err := r.read(ctx, types.NamespacedName{Name: name}, found)
	if err != nil {
		return fmt.Errorf("read policy %s: %w", name, err)
	}
	if ok {
		s.policy = found
	}
	if s.placed() {
		return nil
	}
	if !ok {
		return refuse(v1alpha1.ResultNotAdmitted, v1alpha1.DetailUnknownPolicy, name,
			"there is no ProxyPolicy %q; create it, or name one that exists in spec.policyRef", name)
	}
	// Validated here and now: the policy's own condition may be of an older spec.
	if problems := policy.Validate(found.Spec); len(problems) > 0 {
		return refuse(v1alpha1.ResultNotAdmitted, v1alpha1.DetailPolicyInvalid, problems[0].Field,
			"ProxyPolicy %q is not valid: %s: %s", name, problems[0].Field, problems[0].Message)
	}
	return nil
}

func (r *Reconciler) checkCABundle(ctx context.Context, s *scope) error {
	ref := s.profile.Spec.Proxy.CABundle
	if ref == nil || s.vm != nil {
		return nil
	}
	_, err := r.caBundle(ctx, ref)
	return err
}

// caBundle reads the certificates that Squid trusts for the registries.
func (r *Reconciler) caBundle(ctx context.Context, ref *v1alpha1.ConfigMapKeyRef) (string, error) {
	config := &corev1.ConfigMap{}
	err := r.Live.Get(ctx, types.NamespacedName{Namespace: r.OperatorNamespace, Name: ref.Name}, config)
	if err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("read the CA bundle: %w", err)
	}
	pem := config.Data[keyOf(ref)]
	if err != nil || pem == "" {
		return "", refuse(v1alpha1.ResultNotAdmitted, v1alpha1.DetailCABundleMissing, ref.Name,
			"the profile's CA bundle, key %q of ConfigMap %s/%s, does not exist or is empty; create it, or remove proxy.caBundle from the profile",
			keyOf(ref), r.OperatorNamespace, ref.Name)
	}
	return pem, nil
}

func keyOf(ref *v1alpha1.ConfigMapKeyRef) string {
	if ref.Key == "" {
		return v1alpha1.DefaultBundleKey
	}
	return ref.Key
}

// checkBaked waits until some node can boot the profile's VMs as they are now.
func checkBaked(s *scope) error {
	p := s.profile
	if baked.Somewhere(p) {
		return nil
	}
	said := baked.NodesSaid(p)
	deadline := admissionStart(s).Add(placementBound(p))
	left := deadline.Sub(s.now)
	if left <= 0 {
		return refuse(v1alpha1.ResultNotAdmitted, v1alpha1.DetailNoCapableNode, p.Name,
			"no node could boot profile %q within %s; nodes said: %s", p.Name, placementBound(p), said)
	}
	return hold(v1alpha1.ConditionAdmitted, v1alpha1.DetailWaitingForProfile, left,
		"no node has baked profile %q yet; nodes say: %s", p.Name, said)
}

// admissionStart is when the wait for a node began: with the attempt, or when the run
// was suspended no longer.
func admissionStart(s *scope) time.Time {
	start := s.run.CreationTimestamp.Time
	if t := s.run.Status.Timings; t != nil && t.AttemptStarted != nil {
		start = t.AttemptStarted.Time
	}
	c := meta.FindStatusCondition(s.base.Status.Conditions, v1alpha1.ConditionAdmitted)
	switch {
	case c == nil:
		return start
	case c.Status == metav1.ConditionFalse && c.LastTransitionTime.After(start):
		return c.LastTransitionTime.Time
	case c.Reason == v1alpha1.DetailSuspended.Reason():
		return s.now
	}
	return start
}
