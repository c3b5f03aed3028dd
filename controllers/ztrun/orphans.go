package ztrun

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// sweepOrphans deletes the objects of a run that is gone without its teardown: its
// finalizer was taken away by hand.
func (r *Reconciler) sweepOrphans(ctx context.Context, run types.NamespacedName) error {
	// Asked live: a cache that lags would kill a run that was just created.
	err := r.Live.Get(ctx, run, &v1alpha1.ZTRun{})
	if err == nil || !apierrors.IsNotFound(err) {
		return client.IgnoreNotFound(err)
	}
	_, err = r.eachObject(ctx, r.Client, client.HasLabels{v1alpha1.RunUIDLabel}, func(ctx context.Context, obj client.Object) error {
		if runOf(obj) != run {
			return nil
		}
		return r.delete(ctx, obj)
	})
	if err != nil {
		return fmt.Errorf("sweep the objects of %s: %w", run, err)
	}
	return nil
}

// runOf is the run that an object in the run namespace serves; empty if none.
func runOf(obj client.Object) types.NamespacedName {
	a := obj.GetAnnotations()
	return types.NamespacedName{Namespace: a[v1alpha1.RunNamespaceAnnotation], Name: a[v1alpha1.RunNameAnnotation]}
}
