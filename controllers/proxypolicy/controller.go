package proxypolicy

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/controllers/internal/status"
	"github.com/ai-dossier/zt-operator/internal/policy"
)

const conflictPause = 200 * time.Millisecond

// Reconciler keeps a ProxyPolicy's status.
type Reconciler struct {
	Client client.Client
	Events events.EventRecorder
	Clock  clock.PassiveClock
}

// +kubebuilder:rbac:groups=zt.ai-dossier.org,resources=proxypolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups=zt.ai-dossier.org,resources=proxypolicies/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile makes one pass over one policy.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	base := &v1alpha1.ProxyPolicy{}
	if err := r.Client.Get(ctx, req.NamespacedName, base); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	changed := base.DeepCopy()
	observe(changed, r.Clock.Now())
	wrote, err := status.Write(ctx, r.Client, base, changed)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: conflictPause}, nil
	}
	if err != nil || !wrote {
		return ctrl.Result{}, err
	}
	for _, c := range status.Transitions(base.Status.Conditions, changed.Status.Conditions) {
		kind := corev1.EventTypeNormal
		if c.Status != metav1.ConditionTrue {
			kind = corev1.EventTypeWarning
		}
		r.Events.Eventf(changed, nil, kind, c.Reason, c.Type, "%s", c.Message)
	}
	return ctrl.Result{}, nil
}

// SetupWithManager registers the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.ProxyPolicy{}).Complete(r)
}

// observe computes the policy's status from its spec.
func observe(p *v1alpha1.ProxyPolicy, now time.Time) {
	p.Status.ObservedGeneration = p.Generation
	p.Status.Digest = policy.Digest(p.Spec)
	p.Status.ConfigDigest = ""
	condition := valid(p)
	p.Status.Conditions = status.Set(p.Status.Conditions, p.Generation, now, []status.Condition{condition})
}

func valid(p *v1alpha1.ProxyPolicy) status.Condition {
	c := status.Condition{Type: v1alpha1.ConditionValid, Status: metav1.ConditionFalse}
	if problems := policy.Validate(p.Spec); len(problems) > 0 {
		c.Detail, c.Message = problems[0].Detail, describe(problems)
		return c
	}
	digest, err := policy.ConfigDigest(p.Spec)
	if err != nil {
		c.Detail, c.Message = v1alpha1.DetailPolicyInvalid, err.Error()
		return c
	}
	p.Status.ConfigDigest = digest
	c.Status, c.Detail = metav1.ConditionTrue, v1alpha1.DetailPolicyValid
	c.Message = fmt.Sprintf("hosts admitted: %d", len(p.Spec.Hosts))
	return c
}

// maxProblems bounds a message that lists problems.
const maxProblems = 3

func describe(problems []policy.Problem) string {
	var said []string
	for i, p := range problems {
		if i == maxProblems {
			said = append(said, fmt.Sprintf("and %d more", len(problems)-i))
			break
		}
		said = append(said, p.Field+": "+p.Message)
	}
	return strings.Join(said, "; ")
}
