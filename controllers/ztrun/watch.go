package ztrun

import (
	"cmp"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/controllers/internal/nodes"
)

// watch looks for what ends a placed attempt before its evidence is complete: the
// run's own time limit, a vm pod or node that is gone, a proxy that ended, a node
// agent that never spoke. A finished execution is past all of that.
func (r *Reconciler) watch(_ context.Context, s *scope) (ctrl.Result, error) {
	if e := s.execution(); e != nil && e.State == v1alpha1.ExecutionFinished {
		if e.Failure != nil && e.Failure.Detail == v1alpha1.DetailExecutionInterrupted {
			return ctrl.Result{}, interrupt(v1alpha1.DetailExecutionInterrupted, "%s", e.Failure.Message)
		}
		return ctrl.Result{}, nil
	}
	left := s.timeLeft()
	if left <= 0 {
		return ctrl.Result{}, refuse(v1alpha1.ResultExecutionFailed, v1alpha1.DetailRunTimedOut, "",
			"the run did not finish within %s of its placement; raise limits.runSeconds of the profile or run less", s.runBound())
	}
	for _, check := range []func(*scope) error{vmLost, nodeLost, notTakenUp, proxyLost} {
		if err := check(s); err != nil {
			return ctrl.Result{}, err
		}
	}
	if s.executionState() == v1alpha1.ExecutionReadingSource {
		return ctrl.Result{}, hold(v1alpha1.ConditionSourceRead, v1alpha1.DetailReadingSource, left,
			"the node agent of %s reads the source", s.run.Status.NodeName)
	}
	return ctrl.Result{RequeueAfter: min(left, cmp.Or(s.nodeGraceLeft(), left))}, nil
}

func (s *scope) runBound() time.Duration { return runBound(s.profile, s.run.Spec.Limits) }

// timeLeft of the run, all attempts together.
func (s *scope) timeLeft() time.Duration {
	t := s.run.Status.Timings
	if t == nil || t.Scheduled == nil {
		return s.runBound()
	}
	return t.Scheduled.Add(s.runBound()).Sub(s.now)
}

// vmLost: the pod that holds the VMs is not the one they were started in, or ended.
func vmLost(s *scope) error {
	ref := s.run.Status.VMPod
	switch {
	case s.vm == nil || s.vm.UID != ref.UID:
		return interrupt(v1alpha1.DetailExecutionInterrupted, "the vm pod %s is gone", ref.Name)
	case !s.vm.DeletionTimestamp.IsZero():
		return interrupt(v1alpha1.DetailExecutionInterrupted, "the vm pod %s is being deleted", ref.Name)
	case ended(s.vm):
		return interrupt(v1alpha1.DetailVMPodFailed, "the vm pod ended: %s", podProblem(s.vm))
	}
	return nil
}

// nodeGrace is how long a node's kubelet may not answer before its runs are given up:
// kubelets restart, and starved ones are late.
const nodeGrace = time.Minute

func nodeLost(s *scope) error {
	if nodes.Ready(s.node) || s.nodeGraceLeft() > 0 {
		return nil
	}
	return interrupt(v1alpha1.DetailExecutionInterrupted, "node %s is gone, or not ready for %s", s.run.Status.NodeName, nodeGrace)
}

// nodeGraceLeft is what is left of the grace of a node that is not ready, or 0.
func (s *scope) nodeGraceLeft() time.Duration {
	since, unready := nodes.UnreadySince(s.node)
	if !unready {
		return 0
	}
	return max(0, since.Add(nodeGrace).Sub(s.now))
}

// notTakenUp: the node agent of the run's node does not exist, or does not work.
func notTakenUp(s *scope) error {
	if s.execution() != nil {
		return nil
	}
	since := s.vm.CreationTimestamp
	if s.vm.Status.StartTime != nil {
		since = *s.vm.Status.StartTime
	}
	left := since.Add(takeUpBound).Sub(s.now)
	if left <= 0 {
		return interrupt(v1alpha1.DetailExecutionInterrupted,
			"the node agent of %s did not take up the run within %s; see its logs", s.run.Status.NodeName, takeUpBound)
	}
	return hold(v1alpha1.ConditionSourceRead, v1alpha1.DetailReadingSource, left,
		"waiting for the node agent of %s to take up the run", s.run.Status.NodeName)
}

func (s *scope) proxyReady() bool {
	return s.run.Status.Timings != nil && s.run.Status.Timings.ProxyReady != nil
}

// ended reports whether any container of a pod has ended: none is started again, and
// the phase of a pod with a second one says nothing of it.
func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded ||
		slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.State.Terminated != nil })
}
