package ztrun

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// teardown deletes every object of the run and waits until they are gone and the
// node agent has confirmed that its node is clean.
func (r *Reconciler) teardown(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.completed() || s.paused() {
		return ctrl.Result{}, nil
	}
	left, err := r.deleteObjects(ctx, s.run.UID)
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(left) == 0 {
		// The cache may not have seen yet what the last pass created.
		if left, err = r.liveObjects(ctx, s.run.UID); err != nil {
			return ctrl.Result{}, err
		}
	}
	since := s.now.Sub(s.falseSince(v1alpha1.ConditionTornDown))
	switch {
	case len(left) > 0 && since >= blockedAfter:
		return ctrl.Result{}, hold(v1alpha1.ConditionTornDown, v1alpha1.DetailBlockedCleanup, 10*settle,
			"still there: %s", enumerate(left))
	case len(left) > 0:
		return ctrl.Result{}, hold(v1alpha1.ConditionTornDown, v1alpha1.DetailTearingDown, 2*settle,
			"deleting %s", enumerate(left))
	case !s.cleaned() && since < cleanedBound:
		return ctrl.Result{}, hold(v1alpha1.ConditionTornDown, v1alpha1.DetailTearingDown, cleanedBound-since,
			"every object is gone; waiting for the node agent of %s to confirm that the node is clean", s.run.Status.NodeName)
	}
	return ctrl.Result{}, nil
}

// cleaned reports whether nothing of the attempt is left on its node. A run that was
// never placed has none.
func (s *scope) cleaned() bool {
	if !s.placed() {
		return true
	}
	e := s.execution()
	return e != nil && e.Cleaned
}

// nextAttempt starts again from scratch, under a new number and new names.
func (r *Reconciler) nextAttempt(_ context.Context, s *scope) (ctrl.Result, error) {
	if record := s.ending(); record.TornDownAt == nil {
		record.TornDownAt = s.moment()
	}
	status := &s.run.Status
	status.Attempt = s.attempt() + 1
	status.NodeName, status.VMPod, status.Proxy, status.Egress = "", nil, nil, nil
	t := s.timings()
	t.AttemptStarted, t.Admitted, t.ProxyReady = s.moment(), nil, nil
	return ctrl.Result{RequeueAfter: settle}, nil
}

// complete is reached when nothing is left.
func (r *Reconciler) complete(_ context.Context, s *scope) (ctrl.Result, error) {
	s.timings().Completed = s.moment()
	return ctrl.Result{}, nil
}

// release lets a deleted run go.
func (r *Reconciler) release(ctx context.Context, s *scope) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(s.base, v1alpha1.TeardownFinalizer) {
		s.released = true
		return ctrl.Result{}, nil
	}
	changed := s.base.DeepCopy()
	controllerutil.RemoveFinalizer(changed, v1alpha1.TeardownFinalizer)
	patch := client.MergeFromWithOptions(s.base, client.MergeFromWithOptimisticLock{})
	if err := client.IgnoreNotFound(r.Client.Patch(ctx, changed, patch)); err != nil {
		return ctrl.Result{}, fmt.Errorf("remove the teardown finalizer: %w", err)
	}
	s.released = true
	return ctrl.Result{}, nil
}

// deleteObjects deletes what the cache knows of a run's objects, whatever attempt
// they are of, and names all that are not gone yet.
func (r *Reconciler) deleteObjects(ctx context.Context, run types.UID) ([]string, error) {
	return r.eachObject(ctx, r.Client, client.MatchingLabels{v1alpha1.RunUIDLabel: string(run)}, r.delete)
}

// liveObjects names what the API server has of a run's objects, and deletes it.
func (r *Reconciler) liveObjects(ctx context.Context, run types.UID) ([]string, error) {
	return r.eachObject(ctx, r.Live, client.MatchingLabels{v1alpha1.RunUIDLabel: string(run)}, r.delete)
}

// delete asks for an object's deletion once.
func (r *Reconciler) delete(ctx context.Context, obj client.Object) error {
	if !obj.GetDeletionTimestamp().IsZero() {
		return nil
	}
	uid := obj.GetUID()
	err := r.Client.Delete(ctx, obj, client.Preconditions{UID: &uid})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func (r *Reconciler) eachObject(
	ctx context.Context, reader client.Reader, match client.ListOption, do func(context.Context, client.Object) error,
) ([]string, error) {
	var names []string
	for _, list := range runObjectLists() {
		if err := reader.List(ctx, list, client.InNamespace(r.RunNamespace), match); err != nil {
			return nil, fmt.Errorf("list the run's objects: %w", err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return nil, fmt.Errorf("read a list of the run's objects: %w", err)
		}
		for _, item := range items {
			obj, ok := item.(client.Object)
			if !ok {
				return nil, fmt.Errorf("%T is not an object", item)
			}
			if err := do(ctx, obj); err != nil {
				return nil, fmt.Errorf("delete %s: %w", obj.GetName(), err)
			}
			names = append(names, kindOf(obj)+" "+obj.GetName())
		}
	}
	return names, nil
}

// kindOf is an object's kind for people; typed objects from a list carry none.
func kindOf(obj client.Object) string {
	name := fmt.Sprintf("%T", obj)
	return strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
}

// maxEnumerated bounds a message that lists objects.
const maxEnumerated = 8

func enumerate(names []string) string {
	if len(names) <= maxEnumerated {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxEnumerated], ", "), len(names)-maxEnumerated)
}
