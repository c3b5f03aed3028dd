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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// scope is all that one pass has read and decided.
type scope struct {
	now time.Time
	// run is changed by the pass, its status only; base is the run as it was read.
	run, base *v1alpha1.ZTRun

	// profile and policy are nil if they do not exist or were not needed.
	profile *v1alpha1.ZTProfile
	policy  *v1alpha1.ProxyPolicy

	// The pods of the current attempt, nil if they do not exist, and the node of
	// the vm pod.
	vm, mirror, squid *corev1.Pod
	node              *corev1.Node

	// held says why the pass went no further.
	held *waiting
	// broken is true if the API failed the pass: what it saw is not the whole, and
	// no status is written from it.
	broken bool
	// released is true once the finalizer is gone and the run with it.
	released bool
}

func newScope(run *v1alpha1.ZTRun, now time.Time) *scope {
	return &scope{now: now, run: run, base: run.DeepCopy()}
}

// attempt is the number of the current attempt, from 1.
func (s *scope) attempt() int32 { return max(s.run.Status.Attempt, 1) }

// execution is the node agent's record of the current attempt, or nil.
func (s *scope) execution() *v1alpha1.ExecutionStatus {
	e := s.run.Status.Execution
	if e == nil || e.Attempt != s.attempt() {
		return nil
	}
	return e
}

func (s *scope) executionState() v1alpha1.ExecutionState {
	if e := s.execution(); e != nil {
		return e.State
	}
	return ""
}

// placed reports whether a vm pod of the current attempt was seen running.
func (s *scope) placed() bool { return s.run.Status.VMPod != nil }

func (s *scope) deleting() bool { return !s.run.DeletionTimestamp.IsZero() }

func (s *scope) ended() bool { return s.run.Status.Outcome != nil }

func (s *scope) completed() bool {
	return s.run.Status.Timings != nil && s.run.Status.Timings.Completed != nil
}

// timings are the run's moments; never nil for the caller to write to.
func (s *scope) timings() *v1alpha1.RunTimings {
	if s.run.Status.Timings == nil {
		s.run.Status.Timings = &v1alpha1.RunTimings{}
	}
	return s.run.Status.Timings
}

// moment is now at the API's resolution.
func (s *scope) moment() *metav1.Time {
	t := metav1.NewTime(s.now.Truncate(time.Second))
	return &t
}

// falseSince is when a condition became False, or now if it is not.
func (s *scope) falseSince(condition string) time.Time {
	c := meta.FindStatusCondition(s.base.Status.Conditions, condition)
	if c == nil || c.Status != metav1.ConditionFalse {
		return s.now
	}
	return c.LastTransitionTime.Time
}

// end records the outcome. The first one stands.
func (s *scope) end(outcome v1alpha1.Outcome) {
	if s.ended() {
		return
	}
	s.run.Status.Outcome = boundedOutcome(outcome)
	s.timings().Judged = s.moment()
}

// interrupt records that the attempt was interrupted. The second time in a row it is
// the run's end, and so it is in the last attempt; what people can mend pauses it.
func (s *scope) interrupt(cut *interrupted) {
	if s.interruptedBefore() || s.attempt() >= v1alpha1.MaxAttempts {
		s.conclude(v1alpha1.Outcome{
			Result: v1alpha1.ResultOf(cut.detail), Detail: cut.detail,
			Message: fmt.Sprintf("attempt %d was interrupted and is not made again by itself: %s", s.attempt(), cut.message),
		})
		return
	}
	s.endAttempt(v1alpha1.AttemptInterrupted, v1alpha1.Outcome{Detail: cut.detail, Message: cut.message})
}

// observe reads the pods of the current attempt and their node.
func (r *Reconciler) observe(ctx context.Context, s *scope) error {
	for role, pod := range map[string]**corev1.Pod{
		v1alpha1.RoleVM: &s.vm, v1alpha1.RoleMirror: &s.mirror, v1alpha1.RoleSquid: &s.squid,
	} {
		found := &corev1.Pod{}
		ok, err := r.read(ctx, types.NamespacedName{Namespace: r.RunNamespace, Name: s.name(role)}, found)
		if err != nil {
			return fmt.Errorf("read the %s pod: %w", role, err)
		}
		if ok {
			*pod = found
		}
	}
	if s.run.Status.NodeName == "" {
		return nil
	}
	node := &corev1.Node{}
	ok, err := r.read(ctx, types.NamespacedName{Name: s.run.Status.NodeName}, node)
	if err != nil {
		return fmt.Errorf("read the run's node: %w", err)
	}
	if ok {
		s.node = node
	}
	return nil
}

// read gets an object; false means that it does not exist.
func (r *Reconciler) read(ctx context.Context, key types.NamespacedName, obj client.Object) (bool, error) {
	err := r.Client.Get(ctx, key, obj)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}
