package ztrun

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/controllers/internal/nodes"
)

// maxConcurrentReconciles bounds the runs that are worked on at once; a pass is a
// few API calls.
const maxConcurrentReconciles = 8

// Indices of runs in the cache.
const (
	indexNode    = "status.nodeName"
	indexProfile = "spec.profileRef.name"
)

// SetupWithManager registers the reconciler and what it watches.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	index := mgr.GetFieldIndexer()
	if err := index.IndexField(ctx, &v1alpha1.ZTRun{}, indexNode, func(o client.Object) []string {
		return []string{o.(*v1alpha1.ZTRun).Status.NodeName}
	}); err != nil {
		return err
	}
	if err := index.IndexField(ctx, &v1alpha1.ZTRun{}, indexProfile, func(o client.Object) []string {
		return []string{o.(*v1alpha1.ZTRun).Spec.ProfileRef.Name}
	}); err != nil {
		return err
	}
	served := handler.EnqueueRequestsFromMapFunc(r.servedRun)
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.ZTRun{}).
		Watches(&corev1.Pod{}, served).
		Watches(&corev1.Service{}, served).
		Watches(&corev1.ConfigMap{}, served).
		Watches(&corev1.Secret{}, served).
		Watches(&networkingv1.NetworkPolicy{}, served).
		Watches(&v1alpha1.ZTProfile{}, handler.EnqueueRequestsFromMapFunc(r.runsBy(indexProfile))).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.runsBy(indexNode)), builder.WithPredicates(readinessChanged())).
		WithOptions(controller.Options{MaxConcurrentReconciles: maxConcurrentReconciles}).
		Complete(r)
}

// servedRun leads from an object in the run namespace to its run.
func (r *Reconciler) servedRun(_ context.Context, obj client.Object) []reconcile.Request {
	run := runOf(obj)
	if run.Name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: run}}
}

// runsBy leads from a profile or node to the runs that have its name in an index and
// are neither complete nor paused.
func (r *Reconciler) runsBy(index string) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		runs := &v1alpha1.ZTRunList{}
		if err := r.Client.List(ctx, runs, client.MatchingFields{index: obj.GetName()}); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "list the runs of a changed object", "name", obj.GetName())
			return nil
		}
		var requests []reconcile.Request
		for i := range runs.Items {
			if phase := runs.Items[i].Status.Phase; phase != v1alpha1.PhaseComplete && phase != v1alpha1.PhasePaused {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&runs.Items[i])})
			}
		}
		return requests
	}
}

// readinessChanged passes a node's changes between ready and not, and its end; not
// its heartbeats.
func readinessChanged() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, _ := e.ObjectOld.(*corev1.Node)
			after, _ := e.ObjectNew.(*corev1.Node)
			return nodes.Ready(before) != nodes.Ready(after)
		},
	}
}
