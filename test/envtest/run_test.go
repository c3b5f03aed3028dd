package envtest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/test/builders"
)

func TestARunIsProvenAndTornDown(t *testing.T) {
	p := start(t)
	p.toFinished()
	p.untilComplete(v1alpha1.ResultReproducedAndFixed, v1alpha1.DetailReproducedAndFixed)
	run := p.run()
	for _, c := range run.Status.Conditions {
		if c.Status != metav1.ConditionTrue {
			t.Errorf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	if len(run.Status.Conditions) != 9 || run.Status.Attempt != 1 || run.Status.NodeName != node1 {
		t.Errorf("status is %+v", run.Status)
	}
	if run.Status.Proxy.MirrorAddress != "10.244.0.6:4873" || run.Status.Egress == nil || run.Status.Egress.Admitted != 1 {
		t.Errorf("proxy %+v, egress %+v", run.Status.Proxy, run.Status.Egress)
	}
	if len(run.Status.Execution.Trees) != 3 {
		t.Errorf("the node agent's record has %d trees", len(run.Status.Execution.Trees))
	}
	wantOneEventEach(t, run, "Admitted", "Scheduled", "SourceRead", "ProxyReady", "Provisioned", "NoNetwork", "Verified", "TornDown", "ReproducedAndFixed")
}

// wantOneEventEach checks that each reason was told exactly once as a condition that
// became true.
func wantOneEventEach(t *testing.T, run *v1alpha1.ZTRun, reasons ...string) {
	t.Helper()
	told := map[string]int{}
	deadline := time.Now().Add(patience)
	for {
		clear(told)
		list := &eventsv1.EventList{}
		if err := api.List(t.Context(), list, client.InNamespace(run.Namespace)); err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Items {
			if e.Regarding.UID == run.UID && e.Type == corev1.EventTypeNormal {
				told[e.Reason]++
			}
		}
		missing := slices.DeleteFunc(slices.Clone(reasons), func(r string) bool { return told[r] == 1 })
		if len(missing) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("events %v, want one each of %v", told, missing)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestACompleteRunIsNotWrittenAgain(t *testing.T) {
	p := start(t)
	p.toFinished()
	p.untilComplete(v1alpha1.ResultReproducedAndFixed, v1alpha1.DetailReproducedAndFixed)
	before := p.run().ResourceVersion
	// A pass is forced by a change that is not the operator's to answer.
	run := p.run()
	run.Annotations = map[string]string{"test/poke": "1"}
	if err := api.Update(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	poked := run.ResourceVersion
	if poked == before {
		t.Fatal("the poke changed nothing")
	}
	time.Sleep(500 * time.Millisecond)
	if after := p.run().ResourceVersion; after != poked {
		t.Errorf("the operator wrote a complete run: resource version %s became %s", poked, after)
	}
}

func TestRefusalsBeforeAnythingIsMade(t *testing.T) {
	for name, tc := range map[string]struct {
		bundle bool
		change func(*builders.RunBuilder)
		result v1alpha1.Result
		detail v1alpha1.Detail
	}{
		"the profile does not exist": {true, func(b *builders.RunBuilder) { b.Profile("nowhere") }, v1alpha1.ResultNotAdmitted, v1alpha1.DetailUnknownProfile},
		"the policy does not exist":  {true, func(b *builders.RunBuilder) { b.Policy("nowhere") }, v1alpha1.ResultNotAdmitted, v1alpha1.DetailUnknownPolicy},
		"the bundle does not exist":  {false, func(*builders.RunBuilder) {}, v1alpha1.ResultInvalidSource, v1alpha1.DetailBundleMissing},
	} {
		t.Run(name, func(t *testing.T) {
			p := prepare(t)
			if tc.bundle {
				p.createBundle()
			}
			p.createRun(tc.change)
			p.untilComplete(tc.result, tc.detail)
			if run := p.run(); run.Status.NodeName != "" || run.Status.VMPod != nil {
				t.Errorf("the run was placed: node %q, pod %v", run.Status.NodeName, run.Status.VMPod)
			}
		})
	}
}

func TestRefusalsOfTheSourceNeedNoProxy(t *testing.T) {
	for name, tc := range map[string]struct {
		result v1alpha1.Result
		detail v1alpha1.Detail
	}{
		"a commit is not in the bundle": {v1alpha1.ResultInvalidSource, v1alpha1.DetailCommitNotInBundle},
		"the bundle is not one":         {v1alpha1.ResultInvalidSource, v1alpha1.DetailBundleInvalid},
		"there is no lockfile":          {v1alpha1.ResultUnsupportedEnvironment, v1alpha1.DetailMissingLockfile},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t)
			p.toPlaced()
			p.agent(builders.Execution(1, "").Without().Failed(tc.result, tc.detail).Object())
			p.untilComplete(tc.result, tc.detail)
			if run := p.run(); run.Status.Proxy != nil || meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionSourceRead) {
				t.Errorf("proxy %v, %s", run.Status.Proxy, conditionText(run, v1alpha1.ConditionSourceRead))
			}
		})
	}
}

func TestABaseThatFailsItsOwnSuiteIsInconclusive(t *testing.T) {
	p := start(t)
	p.toRunning()
	p.agent(builders.Execution(1, bundleDigest).
		Tree(v1alpha1.TreeBase, builders.BaseCommit, builders.Command("suite", v1alpha1.ClassFailed)).Finished().Object())
	p.untilComplete(v1alpha1.ResultInconclusive, v1alpha1.DetailBaseSuiteFailed)
}

func TestAClusterWithoutACapableNode(t *testing.T) {
	p := prepare(t)
	p.createBundle()
	name := p.key.Namespace
	short := builders.Profile(name).Spec(func(s *v1alpha1.ZTProfileSpec) { s.Limits.PlacementSeconds = 2 })
	if err := createProfile(t.Context(), short); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deleteProfile(t, name) })
	if err := applyBake(t.Context(), name, builders.BakeFailed(node1, 1, v1alpha1.DetailKVMUnavailable, "/dev/kvm is missing")); err != nil {
		t.Fatal(err)
	}
	p.createRun(func(b *builders.RunBuilder) { b.Profile(name) })
	p.until(v1alpha1.ConditionAdmitted, metav1.ConditionFalse, v1alpha1.DetailWaitingForProfile)
	p.untilComplete(v1alpha1.ResultNotAdmitted, v1alpha1.DetailNoCapableNode)
	if message := p.run().Status.Outcome.Message; !strings.Contains(message, "node-1: Failed kvm_unavailable (/dev/kvm is missing)") {
		t.Errorf("the outcome does not say what the node said: %s", message)
	}
}

func TestASecondRunWaitsForRoomAndThenRuns(t *testing.T) {
	first, second := start(t), start(t)
	first.toRunning()
	second.podStatus(v1alpha1.RoleVM, corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available: 1 Insufficient memory.",
	}}})
	second.eventually("the scheduler's own words in the condition", func() (bool, string) {
		text := conditionText(second.run(), v1alpha1.ConditionScheduled)
		return strings.Contains(text, "WaitingForCapacity: kube-scheduler: 0/1 nodes are available: 1 Insufficient memory."), text
	})
	first.agent(builders.Execution(1, bundleDigest).Proven().Finished().Object())
	first.untilComplete(v1alpha1.ResultReproducedAndFixed, v1alpha1.DetailReproducedAndFixed)
	second.toFinished()
	second.untilComplete(v1alpha1.ResultReproducedAndFixed, v1alpha1.DetailReproducedAndFixed)
}

func TestARunDeletedWhileVMsRunLeavesNothing(t *testing.T) {
	p := start(t)
	p.toRunning()
	if len(p.objects(t.Context())) == 0 {
		t.Fatal("a running run has no objects")
	}
	p.remove()
}

func TestAnInterruptedAttemptIsFollowedByAVerdict(t *testing.T) {
	p := start(t)
	p.toRunning()
	first := p.run().Status.VMPod.UID
	p.agent(builders.Execution(1, bundleDigest).Failed(v1alpha1.ResultExecutionFailed, v1alpha1.DetailExecutionInterrupted).Object())
	p.eventually("attempt 2", func() (bool, string) {
		p.reap(t.Context())
		run := p.run()
		return run.Status.Attempt == 2, conditionText(run, v1alpha1.ConditionScheduled)
	})
	p.toFinished()
	p.untilComplete(v1alpha1.ResultReproducedAndFixed, v1alpha1.DetailReproducedAndFixed)
	if run := p.run(); run.Status.Attempt != 2 || run.Status.VMPod.UID == first {
		t.Errorf("attempt %d in pod %s", run.Status.Attempt, run.Status.VMPod.UID)
	}
}

func TestAnExpiredRunIsDeleted(t *testing.T) {
	p := start(t, func(b *builders.RunBuilder) { b.TTL(1) })
	p.toFinished()
	p.eventually("the run is gone", func() (bool, string) {
		p.reap(t.Context())
		err := api.Get(t.Context(), p.key, &v1alpha1.ZTRun{})
		return apierrors.IsNotFound(err), "still there"
	})
}

func TestASuspendedRunWaits(t *testing.T) {
	p := start(t, func(b *builders.RunBuilder) { b.Suspended() })
	p.until(v1alpha1.ConditionAdmitted, metav1.ConditionUnknown, v1alpha1.DetailSuspended)
	if made := p.objects(t.Context()); len(made) > 0 {
		t.Errorf("made %v", made)
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"suspend":false}}`))
	if err := api.Patch(t.Context(), p.run(), patch); err != nil {
		t.Fatal(err)
	}
	p.pod(v1alpha1.RoleVM)
}

func deleteProfile(t *testing.T, name string) {
	t.Helper()
	profile := &v1alpha1.ZTProfile{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := client.IgnoreNotFound(api.Delete(context.Background(), profile)); err != nil {
		t.Error(err)
	}
}
