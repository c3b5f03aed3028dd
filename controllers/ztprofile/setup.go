package ztprofile

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/controllers/internal/nodes"
)

// SetupWithManager registers the reconciler and what it watches.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	b := ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.ZTProfile{}).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.profilesOf), builder.WithPredicates(nodeChanged()))
	if r.NetworkChanged != nil {
		b = b.WatchesRawSource(source.Channel(r.NetworkChanged, handler.EnqueueRequestsFromMapFunc(r.profilesOf)))
	}
	return b.Complete(r)
}

// profilesOf a node are all there are, and those that only its labels still know: a
// profile that was deleted while no operator ran.
func (r *Reconciler) profilesOf(ctx context.Context, node client.Object) []reconcile.Request {
	names := map[string]bool{}
	for key := range node.GetLabels() {
		if name, ok := strings.CutPrefix(key, v1alpha1.BakedLabelPrefix); ok {
			names[name] = true
		}
	}
	profiles := &v1alpha1.ZTProfileList{}
	if err := r.Client.List(ctx, profiles); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list the profiles of a changed node")
	}
	for i := range profiles.Items {
		names[profiles.Items[i].Name] = true
	}
	var requests []reconcile.Request
	for name := range names {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
	}
	return requests
}

// nodeChanged passes changes of readiness and of the baked labels, which only the
// operator should make; not heartbeats.
func nodeChanged() predicate.Predicate {
	return predicate.Or(predicate.LabelChangedPredicate{}, predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, _ := e.ObjectOld.(*corev1.Node)
			after, _ := e.ObjectNew.(*corev1.Node)
			return nodes.Ready(before) != nodes.Ready(after)
		},
	})
}
