package ztrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/controllers/internal/baked"
)

// place creates the vm pod and waits until kube-scheduler and the kubelet have it
// running. Only then does the node agent learn of the run: status.nodeName is what
// it watches.
func (r *Reconciler) place(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.placed() {
		return ctrl.Result{}, nil
	}
	if _, err := ensure(ctx, r, v1alpha1.ConditionScheduled, r.vmNetworkPolicy(s)); err != nil {
		return ctrl.Result{}, placementRejected(s, err)
	}
	if s.vm == nil {
		vm, err := ensure(ctx, r, v1alpha1.ConditionScheduled, r.vmPod(s))
		if err != nil {
			return ctrl.Result{}, placementRejected(s, err)
		}
		s.vm = vm
	}
	if err := r.checkSelector(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	if err := awaitRunning(s); err != nil {
		return ctrl.Result{}, err
	}
	s.run.Status.Attempt = s.attempt()
	s.run.Status.NodeName = s.vm.Spec.NodeName
	s.run.Status.VMPod = &v1alpha1.PodRef{Name: s.vm.Name, UID: s.vm.UID}
	if t := s.timings(); t.Scheduled == nil {
		t.Scheduled = s.moment()
	}
	// The node is read, and the agent's record can exist, in the next pass only.
	return ctrl.Result{}, hold(v1alpha1.ConditionSourceRead, v1alpha1.DetailReadingSource, takeUpBound,
		"waiting for the node agent of %s to take up the run", s.vm.Spec.NodeName)
}

// checkSelector gives up an unbound vm pod that selects on what the profile no
// longer is: no node will ever carry that label again.
func (r *Reconciler) checkSelector(ctx context.Context, s *scope) error {
	key, value := baked.Label(s.profile)
	if s.vm.Spec.NodeName != "" || s.vm.Spec.NodeSelector[key] == value {
		return nil
	}
	if s.vm.DeletionTimestamp.IsZero() {
		if err := r.Client.Delete(ctx, s.vm, client.Preconditions{UID: &s.vm.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete the outdated vm pod: %w", err)
		}
	}
	return hold(v1alpha1.ConditionScheduled, v1alpha1.DetailWaitingForProfile, settle,
		"profile %q changed before the run was placed; placing it again", s.profile.Name)
}

func awaitRunning(s *scope) error {
	vm := s.vm
	switch {
	case !vm.DeletionTimestamp.IsZero():
		return interrupt(v1alpha1.DetailExecutionInterrupted, "the vm pod was deleted before it ran")
	case vm.Status.Phase == corev1.PodFailed || vm.Status.Phase == corev1.PodSucceeded:
		return interrupt(v1alpha1.DetailVMPodFailed, "the vm pod ended before it ran: %s", podProblem(vm))
	case vm.Status.Phase == corev1.PodRunning && vm.Spec.NodeName != "":
		return nil
	}
	left := vm.CreationTimestamp.Add(placementBound(s.profile)).Sub(s.now)
	if vm.Spec.NodeName != "" {
		if left <= 0 {
			return refuse(v1alpha1.ResultExecutionFailed, v1alpha1.DetailVMPodFailed, "",
				"the vm pod did not start on node %s within %s: %s", vm.Spec.NodeName, placementBound(s.profile), podProblem(vm))
		}
		return hold(v1alpha1.ConditionScheduled, v1alpha1.DetailVMPodStarting, left,
			"the vm pod starts on node %s: %s", vm.Spec.NodeName, podProblem(vm))
	}
	said, unschedulable := schedulerSaid(vm)
	detail := v1alpha1.DetailVMPodStarting
	if unschedulable {
		detail = v1alpha1.DetailWaitingForCapacity
	}
	if left <= 0 {
		return capacityTimedOut(s, said)
	}
	return hold(v1alpha1.ConditionScheduled, detail, left, "%s", said)
}

func capacityTimedOut(s *scope, said string) error {
	return refuse(v1alpha1.ResultNotAdmitted, v1alpha1.DetailCapacityTimedOut, "",
		"no node had room for the VM within %s: %s", placementBound(s.profile), said)
}

// placementRejected shows why the API server refused a pod of the run, a quota
// most often, and tries again until the placement bound.
func placementRejected(s *scope, err error) error {
	var no *rejected
	if !errors.As(err, &no) {
		return err
	}
	since := s.now
	if t := s.run.Status.Timings; t != nil && t.Admitted != nil {
		since = t.Admitted.Time
	}
	left := since.Add(placementBound(s.profile)).Sub(s.now)
	if left <= 0 {
		return capacityTimedOut(s, no.Error())
	}
	return hold(no.condition, v1alpha1.DetailWaitingForCapacity, min(left, 15*time.Second), "%s", no.Error())
}

// schedulerSaid is kube-scheduler's own message, and whether it found no node.
func schedulerSaid(pod *corev1.Pod) (said string, unschedulable bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return "kube-scheduler: " + c.Message, true
		}
	}
	return "kube-scheduler has not looked at the vm pod yet", false
}

// podProblem says what keeps a pod from running, or why it ended.
func podProblem(pod *corev1.Pod) string {
	var said []string
	if pod.Status.Reason != "" || pod.Status.Message != "" {
		said = append(said, strings.TrimSpace(pod.Status.Reason+" "+pod.Status.Message))
	}
	for _, c := range pod.Status.ContainerStatuses {
		switch state := c.State; {
		case state.Waiting != nil:
			said = append(said, strings.TrimSpace(fmt.Sprintf("container %s: %s %s", c.Name, state.Waiting.Reason, state.Waiting.Message)))
		case state.Terminated != nil:
			said = append(said, strings.TrimSpace(fmt.Sprintf("container %s: exit status %d %s %s",
				c.Name, state.Terminated.ExitCode, state.Terminated.Reason, state.Terminated.Message)))
		case state.Running != nil && !c.Ready:
			said = append(said, fmt.Sprintf("container %s: running, not ready", c.Name))
		}
	}
	if len(said) == 0 {
		return fmt.Sprintf("pod phase %s", cmp.Or(pod.Status.Phase, corev1.PodPending))
	}
	return strings.Join(said, "; ")
}
