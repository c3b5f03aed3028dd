//go:build cluster

package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// TestProofNPM asks two questions at once on a cluster that may have room for one: a
// suite that is broken before any fix, and a fix that works. The first is the
// shorter one, its trees in turn, so that the second is placed within its profile's
// placementSeconds.
func TestProofNPM(t *testing.T) {
	fits := roomForTwo(t)
	question := request(t, repository(t, withBrokenSuite))
	question.Profile = readyProfile(t, "alone", inTurnWithTheSameRequest)
	broken := create(t, question)
	placed(t, broken)
	works := fixtures["npm"].submit(t, "npm", defaultName, nil)
	if waited := waitedForRoom(t, works.run, fits); !fits && !waited {
		t.Error("there is room for one run, but the second did not wait for capacity")
	}
	t.Run("a suite that fails on the base is inconclusive", func(t *testing.T) {
		run := finished(t, broken, proofTime)
		wantOutcome(t, run, v1alpha1.ResultInconclusive, v1alpha1.DetailBaseSuiteFailed)
		if n := len(run.Status.Execution.Trees); n != 1 {
			t.Errorf("%d trees were executed, want the base alone", n)
		}
		nothingLeft(t, run)
	})
	t.Run("a fix that works is reproduced_and_fixed", func(t *testing.T) {
		works.prove(t)
	})
}

func withBrokenSuite(t *testing.T, base string) {
	text := "import test from 'node:test';\ntest('always fails', () => { throw new Error('broken before'); });\n"
	if err := os.WriteFile(filepath.Join(base, "test/broken.test.js"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// roomForTwo reports whether the nodes' CPUs hold two vm pods at once.
func roomForTwo(t *testing.T) bool {
	t.Helper()
	request := podRequest(&defaultProfile(t).Spec)
	var nodes corev1.NodeList
	if err := kube.List(t.Context(), &nodes); err != nil {
		t.Fatal(err)
	}
	// The system's own pods always ask for something, so equal is too little.
	var rooms int64
	for i := range nodes.Items {
		rooms += (nodes.Items[i].Status.Allocatable.Cpu().MilliValue() - 1) / request
	}
	return rooms >= 2
}

// podRequest is what a profile's vm pod asks for, in thousandths of a CPU.
func podRequest(spec *v1alpha1.ZTProfileSpec) int64 {
	request := int64(spec.VM.CPUs) * 1000
	if q := spec.VM.CPURequest; q != nil {
		request = q.MilliValue()
	}
	return request * int64(max(1, spec.ParallelTrees))
}

// inTurnWithTheSameRequest leaves no more room beside its one VM than the default
// profile does.
func inTurnWithTheSameRequest(spec *v1alpha1.ZTProfileSpec) {
	request := min(podRequest(spec), int64(spec.VM.CPUs)*1000)
	spec.ParallelTrees, spec.VM.CPURequest = 1, resource.NewMilliQuantity(request, resource.DecimalSI)
}

// placed waits until the run has its node.
func placed(t *testing.T, run *v1alpha1.ZTRun) {
	t.Helper()
	eventually(t, t.Context(), "the run is placed", func() bool {
		now := &v1alpha1.ZTRun{}
		return kube.Get(t.Context(), client.ObjectKeyFromObject(run), now) == nil && now.Status.NodeName != ""
	})
}

// waitedForRoom watches the run until it waits for capacity or has a node.
func waitedForRoom(t *testing.T, run *v1alpha1.ZTRun, fits bool) (waited bool) {
	t.Helper()
	eventually(t, t.Context(), "the second run waits or is placed", func() bool {
		now := &v1alpha1.ZTRun{}
		if kube.Get(t.Context(), client.ObjectKeyFromObject(run), now) != nil {
			return false
		}
		c := meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionScheduled)
		waited = c != nil && c.Reason == v1alpha1.DetailWaitingForCapacity.Reason() && strings.Contains(c.Message, "Insufficient cpu")
		return now.Status.NodeName != "" || (!fits && waited)
	})
	return waited
}

// wholeProof checks what every complete proof has, whatever its fixture.
func wholeProof(t *testing.T, run *v1alpha1.ZTRun) {
	t.Helper()
	if run.Status.Execution == nil {
		t.Fatal("there is no record of the execution")
	}
	for _, tree := range run.Status.Execution.Trees {
		if tree.Timings.BootMillis <= 0 || tree.Timings.PhaseSwitchMillis <= 0 {
			t.Errorf("%s: timings are missing: %+v", tree.Name, tree.Timings)
		}
	}
	for _, c := range run.Status.Conditions {
		if c.Status != "True" || c.Message == "" {
			t.Errorf("condition %s is %s (%q), want True and a message", c.Type, c.Status, c.Message)
		}
	}
	if n := len(run.Status.Conditions); n != 9 {
		t.Errorf("%d conditions, want 9", n)
	}
	wantEvents(t, run)
}

// wantEvents checks that each condition that became true was told of once an attempt.
// An attempt may be lost: emulated VMs crash now and then.
func wantEvents(t *testing.T, run *v1alpha1.ZTRun) {
	t.Helper()
	var events eventsv1.EventList
	if err := kube.List(t.Context(), &events, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	told := map[string]int{}
	for i := range events.Items {
		if e := &events.Items[i]; e.Regarding.UID == run.UID {
			told[e.Reason]++
		}
	}
	for _, lost := range run.Status.Attempts {
		t.Logf("attempt %d of %s: %s: %s: %s", lost.Attempt, run.Name, lost.End, lost.Detail, lost.Message)
	}
	for _, c := range run.Status.Conditions {
		if n := told[c.Reason]; n < 1 || n > 1+len(run.Status.Attempts) {
			t.Errorf("%d events with reason %s in %d attempts, want 1 each (told: %v)", n, c.Reason, 1+len(run.Status.Attempts), told)
		}
	}
}

func wantOutcome(t *testing.T, run *v1alpha1.ZTRun, result v1alpha1.Result, detail v1alpha1.Detail) {
	t.Helper()
	outcome := run.Status.Outcome
	if outcome == nil {
		t.Fatal("there is no outcome")
	}
	if outcome.Result != result || outcome.Detail != detail {
		t.Errorf("outcome = %s/%s (%s: %s), want %s/%s", outcome.Result, outcome.Detail, outcome.Subject, outcome.Message, result, detail)
	}
	if outcome.Message == "" {
		t.Error("the outcome has no message")
	}
	if entry, ok := v1alpha1.Explain(outcome.Detail); !ok || entry.Remedy == "" {
		t.Errorf("the catalogue has no remedy for %s", outcome.Detail)
	}
}
