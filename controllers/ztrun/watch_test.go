package ztrun

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/test/builders"
)

// interruptions end an attempt, not the run.
var interruptions = map[string]struct {
	strike func(*world)
	detail v1alpha1.Detail
	text   string
}{
	"the node agent says it was interrupted": {
		agentFailed(v1alpha1.DetailExecutionInterrupted), v1alpha1.DetailExecutionInterrupted, "as the agent saw it",
	},
	"a VM was lost":       {agentFailed(v1alpha1.DetailVMLost), v1alpha1.DetailVMLost, "as the agent saw it"},
	"a VM did not boot":   {agentFailed(v1alpha1.DetailVMBootFailed), v1alpha1.DetailVMBootFailed, "as the agent saw it"},
	"a VM did not switch": {agentFailed(v1alpha1.DetailVMPhaseChangeFailed), v1alpha1.DetailVMPhaseChangeFailed, "as the agent saw it"},
	"the vm pod is gone": {
		func(w *world) { w.remove(w.pod(v1alpha1.RoleVM)) }, v1alpha1.DetailExecutionInterrupted, "is gone",
	},
	"the vm pod was evicted": {
		func(w *world) {
			edit(w, w.pod(v1alpha1.RoleVM), func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted" })
		}, v1alpha1.DetailVMPodFailed, "Evicted",
	},
	"the node is not ready": {
		func(w *world) {
			edit(w, builders.Node(node1, true), func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown })
		}, v1alpha1.DetailExecutionInterrupted, "node-1 is gone, or not ready for 1m0s",
	},
	"the node is gone": {
		func(w *world) { w.remove(builders.Node(node1, true)) }, v1alpha1.DetailExecutionInterrupted, "node-1 is gone, or not ready for 1m0s",
	},
	"Squid ended": {
		func(w *world) {
			edit(w, w.pod(v1alpha1.RoleSquid), func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
		}, v1alpha1.DetailProxyEnded, "the squid pod ended",
	},
	"the mirror was killed": {
		func(w *world) {
			edit(w, w.pod(v1alpha1.RoleMirror), func(p *corev1.Pod) { terminated(137, "Error", "")(&p.Status) })
		}, v1alpha1.DetailProxyEnded, "the mirror pod ended: container main: exit status 137",
	},
	"the mirror is gone": {
		func(w *world) { w.remove(w.pod(v1alpha1.RoleMirror)) }, v1alpha1.DetailProxyEnded, "the mirror pod is gone",
	},
}

// agentFailed has the node agent record that the current attempt failed.
func agentFailed(detail v1alpha1.Detail) func(*world) {
	return func(w *world) {
		w.agent(builders.Execution(w.run().Status.Attempt, bundleDigest).Failed(v1alpha1.ResultExecutionFailed, detail).Object())
	}
}

func TestAnInterruptedAttemptIsMadeAgainFromScratchOnce(t *testing.T) {
	for name, tc := range interruptions {
		t.Run(name, func(t *testing.T) {
			w, _ := readyWorld(t)
			w.toRunning()
			w.drain()
			tc.strike(w)
			w.settle()
			w.advance(cleanedBound)
			w.settle()
			status := w.run().Status
			if status.Attempt != 2 || status.NodeName != "" || status.VMPod != nil || status.Proxy != nil || status.Outcome != nil {
				t.Fatalf("after an interruption: attempt %d, node %q, pod %v, proxy %v, outcome %v",
					status.Attempt, status.NodeName, status.VMPod, status.Proxy, status.Outcome)
			}
			for _, object := range w.objects() {
				if strings.Contains(object, "-1-") {
					t.Errorf("%s of the first attempt is left", object)
				}
			}
			if told := strings.Join(w.drain(), "\n"); !strings.Contains(told, "Warning AttemptInterrupted") || !strings.Contains(told, tc.text) {
				t.Errorf("no event tells what happened:\n%s", told)
			}

			edit(w, ensureNode(w), func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionTrue })
			w.toRunning()
			tc.strike(w)
			w.pass()
			if tc.detail.Pauses() {
				w.settle()
				w.advance(cleanedBound)
				w.wantPaused(tc.detail, tc.text)
				return
			}
			w.wantOutcome(v1alpha1.ResultExecutionFailed, tc.detail, tc.text)
			w.settle()
			w.advance(cleanedBound)
			w.wantComplete()
		})
	}
}

func TestANodeMayBeLateForAMoment(t *testing.T) {
	late := func(w *world, status corev1.ConditionStatus) {
		edit(w, builders.Node(node1, true), func(n *corev1.Node) {
			n.Status.Conditions[0].Status, n.Status.Conditions[0].LastTransitionTime = status, metav1.NewTime(w.clock.Now())
		})
	}
	w, _ := readyWorld(t)
	w.toRunning()
	late(w, corev1.ConditionUnknown)
	if result := w.pass(); result.RequeueAfter <= 0 || result.RequeueAfter > nodeGrace {
		t.Errorf("the next look at the node is after %s, want one within %s", result.RequeueAfter, nodeGrace)
	}
	w.advance(nodeGrace - time.Second)
	w.settle()
	late(w, corev1.ConditionTrue)
	w.advance(time.Hour)
	w.settle()
	if s := w.run().Status; s.Attempt != 1 || len(s.Attempts) > 0 {
		t.Fatalf("a node that came back cost an attempt: %+v", s.Attempts)
	}
	late(w, corev1.ConditionUnknown)
	w.advance(nodeGrace)
	w.settle()
	if s := w.run().Status; len(s.Attempts) != 1 {
		t.Fatalf("a node that did not come back: attempts %+v", s.Attempts)
	}
}

func ensureNode(w *world) *corev1.Node {
	_ = w.client.Create(w.t.Context(), builders.Node(node1, true))
	return builders.Node(node1, true)
}

func TestANodeAgentThatNeverSpeaksInterruptsTheAttempt(t *testing.T) {
	w, _ := readyWorld(t)
	w.toPlaced()
	w.advance(takeUpBound)
	w.settle()
	w.wantCondition(v1alpha1.ConditionScheduled, metav1.ConditionFalse, v1alpha1.DetailAttemptInterrupted, "did not take up the run within 2m0s")
	w.advance(cleanedBound)
	w.settle()
	if got := w.run().Status.Attempt; got != 2 {
		t.Errorf("attempt is %d, want 2", got)
	}
}

func TestARunThatTakesTooLongEndsAndIsTornDown(t *testing.T) {
	for name, tc := range map[string]struct {
		narrow func(*builders.RunBuilder)
		bound  time.Duration
	}{
		"by the profile's limit":                  {func(*builders.RunBuilder) {}, 7200 * time.Second},
		"by the run's own, narrower limit":        {func(b *builders.RunBuilder) { b.RunSeconds(60) }, 60 * time.Second},
		"not by the run's own, were it the wider": {func(b *builders.RunBuilder) { b.RunSeconds(9000) }, 7200 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := readyWorld(t, tc.narrow)
			w.toRunning()
			w.advance(tc.bound - time.Second)
			if result := w.settle(); result.RequeueAfter != time.Second {
				t.Errorf("the next pass is in %s, want at the bound", result.RequeueAfter)
			}
			w.advance(time.Second)
			w.pass()
			w.wantOutcome(v1alpha1.ResultExecutionFailed, v1alpha1.DetailRunTimedOut, tc.bound.String())
			w.settle()
			w.advance(cleanedBound)
			w.wantComplete()
		})
	}
}

func TestARecordOfAnotherAttemptIsNotBelieved(t *testing.T) {
	w, _ := readyWorld(t)
	w.toPlaced()
	w.agent(builders.Execution(7, bundleDigest).Proven().Finished().Object())
	w.settle()
	if o := w.run().Status.Outcome; o != nil {
		t.Errorf("judged a record of attempt 7: %+v", o)
	}
	w.wantCondition(v1alpha1.ConditionSourceRead, metav1.ConditionFalse, v1alpha1.DetailReadingSource, "to take up the run")
}

func TestADeletedProfileDoesNotEndARunThatNoLongerNeedsIt(t *testing.T) {
	w, _ := readyWorld(t)
	w.toRunning()
	w.remove(builders.Profile("default").Object())
	w.agent(builders.Execution(1, bundleDigest).Proven().Finished().Object())
	w.logs.text = accessLog
	w.settle()
	w.wantOutcome(v1alpha1.ResultReproducedAndFixed, v1alpha1.DetailReproducedAndFixed, "")
}
