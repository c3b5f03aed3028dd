package ztprofile

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/controllers/internal/status"
)

// Reconciler keeps a ZTProfile's status and the labels of its nodes.
type Reconciler struct {
	Client client.Client
	Events events.EventRecorder
	Clock  clock.PassiveClock

	// Network is the probe whose result every profile shows: it is where people look
	// for why no run of it is admitted. NetworkChanged tells of new results.
	Network        Network
	NetworkChanged <-chan event.GenericEvent
}

// +kubebuilder:rbac:groups=zt.ai-dossier.org,resources=ztprofiles,verbs=get;list;watch
// +kubebuilder:rbac:groups=zt.ai-dossier.org,resources=ztprofiles/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile makes one pass over one profile: labels first, so that Ready is never
// true of a profile that no pod could select a node for.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	nodeList := &corev1.NodeList{}
	if err := r.Client.List(ctx, nodeList); err != nil {
		return ctrl.Result{}, fmt.Errorf("list nodes: %w", err)
	}
	base := &v1alpha1.ZTProfile{}
	if err := r.Client.Get(ctx, req.NamespacedName, base); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, r.label(ctx, req.Name, nodeList.Items, nil)
		}
		return ctrl.Result{}, fmt.Errorf("read the profile: %w", err)
	}
	changed := base.DeepCopy()
	if err := observe(changed, nodeList.Items, r.Clock.Now()); err != nil {
		return ctrl.Result{}, err
	}
	r.showNetwork(changed)
	if err := r.label(ctx, base.Name, nodeList.Items, wantedLabels(changed, nodeList.Items)); err != nil {
		return quiet(err)
	}
	wrote, err := status.Write(ctx, r.Client, base, changed)
	if err != nil || !wrote {
		return quiet(err)
	}
	for _, c := range status.Transitions(base.Status.Conditions, changed.Status.Conditions) {
		kind := corev1.EventTypeNormal
		if c.Status != metav1.ConditionTrue && c.Reason != v1alpha1.DetailNotBakedYet.Reason() && c.Reason != v1alpha1.DetailWaitingForNetworkProbe.Reason() {
			kind = corev1.EventTypeWarning
		}
		r.Events.Eventf(changed, nil, kind, c.Reason, c.Type, "%s", c.Message)
	}
	return ctrl.Result{}, nil
}

// label makes the profile's label on every node what wanted says: its value, or no
// label where wanted has none. One node that fails does not keep the others.
func (r *Reconciler) label(ctx context.Context, profile string, all []corev1.Node, wanted map[string]string) error {
	key := v1alpha1.BakedLabelPrefix + profile
	var failed []error
	for i := range all {
		node := &all[i]
		value, want := wanted[node.Name]
		current, has := node.Labels[key]
		if want == has && value == current {
			continue
		}
		changed := node.DeepCopy()
		if want {
			if changed.Labels == nil {
				changed.Labels = map[string]string{}
			}
			changed.Labels[key] = value
		} else {
			delete(changed.Labels, key)
		}
		if err := r.Client.Patch(ctx, changed, client.MergeFrom(node)); client.IgnoreNotFound(err) != nil {
			failed = append(failed, fmt.Errorf("label node %s: %w", node.Name, err))
		}
	}
	return errors.Join(failed...)
}

// quiet makes a conflict what it is: the object changed and comes again.
func quiet(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: conflictPause}, nil
	}
	return ctrl.Result{}, err
}
