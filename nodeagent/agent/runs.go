package agent

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// RunReconciler keeps one session for each attempt that belongs on this node. Its
// client's cache must hold the runs of this node only.
type RunReconciler struct {
	Client   client.Client
	Node     string
	Sessions *Sessions
}

// SetupWithManager registers the reconciler.
func (r *RunReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("run").For(&v1alpha1.ZTRun{}).Complete(r)
}

// Reconcile starts, updates or stops the session of one run.
func (r *RunReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var run v1alpha1.ZTRun
	if err := r.Client.Get(ctx, req.NamespacedName, &run); err != nil {
		if client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, fmt.Errorf("reading run: %w", err)
		}
		r.Sessions.Stop(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	switch {
	case !r.wanted(&run):
		r.Sessions.Stop(req.NamespacedName)
	case r.Sessions.Update(&run):
	case taken(&run):
		// A session of this attempt existed in an earlier life of this agent.
		r.Sessions.Abandon(&run)
		return ctrl.Result{}, nil
	default:
		r.Sessions.Start(&run)
		return ctrl.Result{}, nil
	}
	if unfinished(&run) && !r.Sessions.Has(req.NamespacedName) {
		r.Sessions.Abandon(&run)
	}
	return ctrl.Result{}, nil
}

// wanted is true while the operator wants this node to execute the run's attempt.
func (r *RunReconciler) wanted(run *v1alpha1.ZTRun) bool {
	s := &run.Status
	return s.NodeName == r.Node && s.VMPod != nil && s.Attempt > 0 &&
		run.DeletionTimestamp.IsZero() && s.Outcome == nil && s.Ended() == nil && !finished(run)
}

// taken is true if the current attempt has a record of an execution.
func taken(run *v1alpha1.ZTRun) bool {
	return run.Status.Execution != nil && run.Status.Execution.Attempt == run.Status.Attempt
}

func finished(run *v1alpha1.ZTRun) bool {
	return taken(run) && run.Status.Execution.State == v1alpha1.ExecutionFinished
}

func unfinished(run *v1alpha1.ZTRun) bool { return taken(run) && !finished(run) }

// proxyReady is true once mirror and Squid of the run's attempt are ready.
func proxyReady(run *v1alpha1.ZTRun) bool {
	for i := range run.Status.Conditions {
		if c := &run.Status.Conditions[i]; c.Type == v1alpha1.ConditionProxyReady {
			return c.Status == metav1.ConditionTrue
		}
	}
	return false
}
