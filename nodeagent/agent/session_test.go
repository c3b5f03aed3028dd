package agent

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/verdict"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor/fake"
)

func hang(hypervisor.Config, brokerproto.Exec) fake.Reply { return fake.Reply{Hang: true} }

func TestAnAttemptRunsFromItsSourceToACleanNode(t *testing.T) {
	w := newWorld(t, fixed(t))
	w.reconcile()
	waiting := w.await("the read source", inState(v1alpha1.ExecutionWaitingForProxy))
	if waiting.Source == nil || waiting.Source.Runtime != "node-22" || waiting.Source.Packages != 8 {
		t.Errorf("source %+v", waiting.Source)
	}
	if boots := w.vms.Boots(); len(boots) > 0 {
		t.Error("a VM exists before the proxy does")
	}
	w.proxyComesUp()
	record := w.await("the end", inState(v1alpha1.ExecutionFinished))
	if !record.Cleaned || record.Failure != nil || record.FinishedAt == nil {
		t.Errorf("finished with cleaned %v, failure %+v", record.Cleaned, record.Failure)
	}
	if outcome, final := verdict.Judge(record, w.run.Spec.Proof); outcome.Result != v1alpha1.ResultReproducedAndFixed || !final {
		t.Errorf("judged %+v", outcome)
	}
	w.nothingLeft()
}

func TestARefusedSourceNeedsNoVM(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(*testing.T, *world)
		want  v1alpha1.Detail
	}{
		"the bundle is not one": {func(t *testing.T, w *world) {
			w.changeSource(func(c *corev1.ConfigMap) { c.BinaryData[v1alpha1.DefaultBundleKey] = []byte("PK\x03\x04") })
		}, v1alpha1.DetailBundleInvalid},
		"the copied bundle has no such key": {func(t *testing.T, w *world) {
			w.changeSource(func(c *corev1.ConfigMap) { c.BinaryData = nil })
		}, v1alpha1.DetailBundleMissing},
		"the profile is not baked here": {func(_ *testing.T, w *world) {
			w.sessions.host.Profiles.set("default", nil)
		}, v1alpha1.DetailProfileImageMissing},
		"the runtime's disk is not baked here": {func(_ *testing.T, w *world) {
			baked := bakedProfile()
			baked.Manifest.Runtimes = nil
			w.sessions.host.Profiles.set("default", baked)
		}, v1alpha1.DetailProfileNotBaked},
		"an earlier attempt came to another runtime": {func(_ *testing.T, w *world) {
			w.change(func(run *v1alpha1.ZTRun) {
				run.Status.Runtime = &v1alpha1.RuntimeRecord{Ecosystem: v1alpha1.EcosystemNPM, Name: "node-20"}
			})
		}, v1alpha1.DetailRecordMismatch},
		"no runtime of the profile satisfies the repository": {func(_ *testing.T, w *world) {
			baked := bakedProfile()
			baked.Spec.Runtimes[0].Version = "18.20.0"
			w.sessions.host.Profiles.set("default", baked)
		}, v1alpha1.DetailProfileNotBaked},
		"the profile has no mirror for npm": {func(_ *testing.T, w *world) {
			baked := bakedProfile()
			baked.Spec.Proxy.Mirrors = nil
			w.sessions.host.Profiles.set("default", baked)
		}, v1alpha1.DetailEcosystemNotOffered},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, fixed(t))
			tc.spoil(t, w)
			w.reconcile()
			record := w.await("the refusal", inState(v1alpha1.ExecutionFinished))
			if record.Failure == nil || record.Failure.Detail != tc.want {
				t.Errorf("failure %+v, want %s", record.Failure, tc.want)
			}
			if len(w.vms.Boots()) > 0 {
				t.Error("a VM was booted")
			}
			w.nothingLeft()
		})
	}
}

func TestNothingIsExecutedUnlessTheOperatorRecordedTheRuntime(t *testing.T) {
	for name, tc := range map[string]struct {
		record *v1alpha1.RuntimeRecord
		want   v1alpha1.Detail
	}{
		"it recorded none":    {nil, v1alpha1.DetailRecordMissing},
		"it recorded another": {&v1alpha1.RuntimeRecord{Ecosystem: v1alpha1.EcosystemNPM, Name: "node-20"}, v1alpha1.DetailRecordMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, fixed(t))
			w.reconcile()
			w.await("the read source", inState(v1alpha1.ExecutionWaitingForProxy))
			w.change(func(run *v1alpha1.ZTRun) {
				run.Status.Runtime, run.Status.Proxy = tc.record, &v1alpha1.ProxyStatus{MirrorAddress: "127.0.0.1:4873"}
			})
			record := w.await("the refusal", inState(v1alpha1.ExecutionFinished))
			if record.Failure == nil || record.Failure.Detail != tc.want {
				t.Errorf("failure %+v, want %s", record.Failure, tc.want)
			}
			if len(w.vms.Boots()) > 0 {
				t.Error("a VM was booted")
			}
			w.nothingLeft()
		})
	}
}

func TestAnAttemptThatIsTakenAwayEndsAndCleansUp(t *testing.T) {
	for name, take := range map[string]func(*world){
		"the run was deleted": func(w *world) {
			if err := w.client.Delete(w.t.Context(), w.latest()); err != nil {
				w.t.Fatal(err)
			}
			w.reconcile()
		},
		"the operator recorded an outcome": func(w *world) {
			w.change(func(run *v1alpha1.ZTRun) {
				run.Status.Outcome = &v1alpha1.Outcome{Result: v1alpha1.ResultExecutionFailed, Detail: v1alpha1.DetailRunTimedOut}
			})
		},
		"the operator paused the run": func(w *world) {
			w.change(func(run *v1alpha1.ZTRun) {
				run.Status.Attempts = []v1alpha1.AttemptRecord{{Attempt: 1, End: v1alpha1.AttemptPaused, Detail: v1alpha1.DetailProxyNotReady}}
			})
		},
		"the run moved to another node": func(w *world) {
			w.change(func(run *v1alpha1.ZTRun) { run.Status.NodeName = "n2" })
		},
		"the agent stops": func(w *world) { w.sessions.Drain() },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, fake.Guest{Exec: hang})
			w.reconcile()
			w.await("the read source", inState(v1alpha1.ExecutionWaitingForProxy))
			w.proxyComesUp()
			w.await("a running command", func(e *v1alpha1.ExecutionStatus) bool {
				return len(e.Trees) > 0 && e.Trees[0].State == v1alpha1.TreeProvisioning
			})
			take(w)
			w.nothingLeft()
		})
	}
}

func TestAnAttemptOfAnEarlierLifeIsAnInterruption(t *testing.T) {
	w := newWorld(t, fixed(t))
	w.change(func(run *v1alpha1.ZTRun) {
		run.Status.Execution = &v1alpha1.ExecutionStatus{
			Attempt: 1, State: v1alpha1.ExecutionRunning,
			Trees: []v1alpha1.TreeStatus{{Name: v1alpha1.TreeBase, State: v1alpha1.TreeProvisioning}},
		}
	})
	record := w.await("the end", inState(v1alpha1.ExecutionFinished))
	if record.Failure == nil || record.Failure.Detail != v1alpha1.DetailExecutionInterrupted || !record.Cleaned {
		t.Errorf("failure %+v, cleaned %v", record.Failure, record.Cleaned)
	}
	if len(record.Trees) != 1 {
		t.Errorf("the record of %d trees is lost", 1-len(record.Trees))
	}
	w.nothingLeft()
}

func TestANewAttemptStartsFromScratch(t *testing.T) {
	w := newWorld(t, fake.Guest{Exec: hang})
	w.reconcile()
	w.await("the first attempt", inState(v1alpha1.ExecutionWaitingForProxy))
	w.change(func(run *v1alpha1.ZTRun) { run.Status.Attempt = 2 })
	w.await("the first attempt's end", inState(v1alpha1.ExecutionFinished))
	w.sessions.Drain()
	w.reconcile()
	w.await("the second attempt", func(e *v1alpha1.ExecutionStatus) bool { return e.Attempt == 2 })
	w.nothingLeft()
}

func TestWanted(t *testing.T) {
	r := &RunReconciler{Node: node}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.ZTRun)
		want   bool
	}{
		"a run placed on this node":       {func(*v1alpha1.ZTRun) {}, true},
		"a run placed on another node":    {func(run *v1alpha1.ZTRun) { run.Status.NodeName = "n2" }, false},
		"a run without a vm pod":          {func(run *v1alpha1.ZTRun) { run.Status.VMPod = nil }, false},
		"a run without an attempt":        {func(run *v1alpha1.ZTRun) { run.Status.Attempt = 0 }, false},
		"a run with an outcome":           {func(run *v1alpha1.ZTRun) { run.Status.Outcome = &v1alpha1.Outcome{} }, false},
		"a run whose attempt has ended":   {func(run *v1alpha1.ZTRun) { run.Status.Attempts = []v1alpha1.AttemptRecord{{Attempt: 1}} }, false},
		"a run whose earlier attempt has": {func(run *v1alpha1.ZTRun) { run.Status.Attempts = []v1alpha1.AttemptRecord{{Attempt: 0}} }, true},
		"a run whose attempt is finished": {withExecution(1, v1alpha1.ExecutionFinished), false},
		"a run whose attempt is running":  {withExecution(1, v1alpha1.ExecutionRunning), true},
		"a run whose last attempt ended":  {withExecution(0, v1alpha1.ExecutionFinished), true},
	} {
		t.Run(name, func(t *testing.T) {
			run := &v1alpha1.ZTRun{Status: v1alpha1.ZTRunStatus{
				Attempt: 1, NodeName: node, VMPod: &v1alpha1.PodRef{Name: "vm", UID: types.UID("u")},
			}}
			tc.change(run)
			if got := r.wanted(run); got != tc.want {
				t.Errorf("wanted is %v", got)
			}
		})
	}
}

func withExecution(attempt int32, state v1alpha1.ExecutionState) func(*v1alpha1.ZTRun) {
	return func(run *v1alpha1.ZTRun) {
		run.Status.Execution = &v1alpha1.ExecutionStatus{Attempt: attempt, State: state}
	}
}

func (w *world) changeSource(change func(*corev1.ConfigMap)) {
	w.t.Helper()
	config := w.source(w.t)
	change(config)
	if err := w.client.Update(w.t.Context(), config); err != nil {
		w.t.Fatal(err)
	}
}
