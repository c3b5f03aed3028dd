package ztrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// Reconciler carries ZTRuns from admission to a torn-down verdict.
type Reconciler struct {
	// Client reads from a cache that holds the run namespace, this API and Nodes.
	Client client.Client
	// Live reads from the API server: users' ConfigMaps, which are not cached, and
	// whatever must not be judged from a cache that lags.
	Live   client.Reader
	Events events.EventRecorder
	Logs   LogReader
	// Network is asked before a run is admitted.
	Network Network
	Clock   clock.PassiveClock

	// RunNamespace holds every object of every attempt.
	RunNamespace string
	// OperatorNamespace holds the node agents and the registries' CA bundle.
	OperatorNamespace string
	// HolderImage is the vm pod's image.
	HolderImage string
}

// phase is one step of a run. A nil error lets the next phase run in this pass.
type phase func(context.Context, *scope) (ctrl.Result, error)

// +kubebuilder:rbac:groups=zt.ai-dossier.org,resources=ztruns,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=zt.ai-dossier.org,resources=ztruns/status,verbs=patch
// +kubebuilder:rbac:groups=zt.ai-dossier.org,resources=ztprofiles;proxypolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",namespace=zt-runs,resources=pods;services;configmaps;secrets,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=networking.k8s.io,namespace=zt-runs,resources=networkpolicies,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",namespace=zt-runs,resources=pods/log,verbs=get

// Reconcile makes one pass over one run.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	run := &v1alpha1.ZTRun{}
	if err := r.Client.Get(ctx, req.NamespacedName, run); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, r.sweepOrphans(ctx, req.NamespacedName)
		}
		return ctrl.Result{}, fmt.Errorf("read the run: %w", err)
	}
	s := newScope(run, r.Clock.Now())
	if err := r.holdFinalizer(ctx, s); err != nil {
		return quiet(ctrl.Result{}, err)
	}
	defer func() {
		if closeErr := r.close(ctx, s); closeErr != nil {
			result, err = quiet(ctrl.Result{}, errors.Join(err, closeErr))
		}
	}()
	if err := r.observe(ctx, s); err != nil {
		return r.settle(s, err)
	}
	return r.drive(ctx, s, r.phases(s))
}

// phases are the steps that a run still has before it.
func (r *Reconciler) phases(s *scope) []phase {
	switch {
	case s.deleting():
		return []phase{r.teardown, r.release}
	case s.completed():
		return []phase{r.expire}
	case s.ended():
		return []phase{r.teardown, r.complete, r.expire}
	case s.endedBy(v1alpha1.AttemptPaused):
		return []phase{r.teardown, r.park, r.resume}
	case s.endedBy(v1alpha1.AttemptInterrupted):
		return []phase{r.teardown, r.nextAttempt}
	case s.run.Spec.Suspend && !s.placed():
		return []phase{r.suspend}
	default:
		return []phase{r.admit, r.source, r.place, r.watch, r.selection, r.proxy, r.judge}
	}
}

func (r *Reconciler) drive(ctx context.Context, s *scope, phases []phase) (ctrl.Result, error) {
	var next ctrl.Result
	for _, p := range phases {
		result, err := p(ctx, s)
		if err != nil {
			return r.settle(s, err)
		}
		next = sooner(next, result)
	}
	return next, nil
}

// settle turns the type of an error into what follows from it.
func (r *Reconciler) settle(s *scope, err error) (ctrl.Result, error) {
	var (
		end  *terminal
		cut  *interrupted
		wait *waiting
	)
	switch {
	// Recorded first, torn down by the next pass: evidence goes with the pods.
	case errors.As(err, &end):
		s.conclude(end.outcome)
		return ctrl.Result{RequeueAfter: settle}, nil
	case errors.As(err, &cut):
		s.interrupt(cut)
		return ctrl.Result{RequeueAfter: settle}, nil
	case errors.As(err, &wait):
		s.held = wait
		return ctrl.Result{RequeueAfter: wait.after}, nil
	default:
		s.broken = true
		return quiet(ctrl.Result{}, err)
	}
}

// holdFinalizer makes sure that the run outlives its pods.
func (r *Reconciler) holdFinalizer(ctx context.Context, s *scope) error {
	if s.deleting() || controllerutil.ContainsFinalizer(s.run, v1alpha1.TeardownFinalizer) {
		return nil
	}
	changed := s.run.DeepCopy()
	controllerutil.AddFinalizer(changed, v1alpha1.TeardownFinalizer)
	patch := client.MergeFromWithOptions(s.run, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, changed, patch); err != nil {
		return fmt.Errorf("add the teardown finalizer: %w", err)
	}
	s.run, s.base = changed, changed.DeepCopy()
	return nil
}

// quiet makes a conflict what it is, news: the object changed, look again.
func quiet(result ctrl.Result, err error) (ctrl.Result, error) {
	if err == nil || !apierrors.IsConflict(err) {
		return result, err
	}
	return ctrl.Result{RequeueAfter: 200 * time.Millisecond}, nil
}

// sooner is the earlier of two requested passes.
func sooner(a, b ctrl.Result) ctrl.Result {
	if a.RequeueAfter == 0 || b.RequeueAfter != 0 && b.RequeueAfter < a.RequeueAfter {
		return b
	}
	return a
}

// close writes what the pass found into the status, once, and then tells the
// events of it.
func (r *Reconciler) close(ctx context.Context, s *scope) error {
	if s.broken || s.released {
		return nil
	}
	s.run.Status.ObservedGeneration = s.run.Generation
	s.run.Status.Conditions = conditions(s)
	s.run.Status.Phase = runPhase(s)
	return r.publish(ctx, s)
}
