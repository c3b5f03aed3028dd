package ztrun

import (
	"context"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// expire deletes a completed run when its time to live is over. It comes to a run
// one pass after its status says Completed at the earliest, so that watchers see it.
func (r *Reconciler) expire(ctx context.Context, s *scope) (ctrl.Result, error) {
	ttl := s.run.Spec.TTLSecondsAfterFinished
	if ttl == nil {
		return ctrl.Result{}, nil
	}
	left := s.run.Status.Timings.Completed.Add(time.Duration(*ttl) * time.Second).Sub(s.now)
	if recorded := s.base.Status.Timings != nil && s.base.Status.Timings.Completed != nil; !recorded {
		left = max(left, settle)
	}
	if left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	uid := s.run.UID
	if err := client.IgnoreNotFound(r.Client.Delete(ctx, s.base.DeepCopy(), client.Preconditions{UID: &uid})); err != nil {
		return ctrl.Result{}, fmt.Errorf("delete the expired run: %w", err)
	}
	return ctrl.Result{}, nil
}
