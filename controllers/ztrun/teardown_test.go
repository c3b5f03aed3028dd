package ztrun

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/test/builders"
)

func (w *world) finished() {
	w.t.Helper()
	w.logs.text = accessLog
	w.agent(builders.Execution(1, bundleDigest).Proven().Finished().Object())
}

func TestTheOutcomeIsRecordedBeforeAnythingIsDeleted(t *testing.T) {
	w, _ := readyWorld(t)
	w.toRunning()
	w.finished()
	before := w.objects()
	w.pass()
	if w.run().Status.Outcome == nil || !slices.Equal(before, w.objects()) {
		t.Errorf("after the judging pass, outcome %v, objects %v", w.run().Status.Outcome, w.objects())
	}
}

func TestCompletionWaitsForTheNodeButNotForever(t *testing.T) {
	w, _ := readyWorld(t)
	w.toRunning()
	w.logs.text = accessLog
	w.agent(builders.Execution(1, bundleDigest).Proven().State(v1alpha1.ExecutionFinished).Object())
	w.settle()
	w.wantCondition(v1alpha1.ConditionTornDown, metav1.ConditionFalse, v1alpha1.DetailTearingDown, "confirm that the node is clean")
	if phase := w.run().Status.Phase; phase != v1alpha1.PhaseTearingDown {
		t.Errorf("phase is %s, want TearingDown", phase)
	}
	w.advance(cleanedBound)
	w.wantComplete()
}

func TestABlockedCleanupSaysWhatIsLeftAndGoesOn(t *testing.T) {
	w, _ := readyWorld(t)
	w.toRunning()
	edit(w, w.pod(v1alpha1.RoleVM), func(p *corev1.Pod) { p.Finalizers = []string{"test/stuck"} })
	w.finished()
	w.settle()
	w.wantCondition(v1alpha1.ConditionTornDown, metav1.ConditionFalse, v1alpha1.DetailTearingDown, "pod ztr-")
	w.drain()
	w.advance(blockedAfter)
	w.settle()
	w.wantCondition(v1alpha1.ConditionTornDown, metav1.ConditionFalse, v1alpha1.DetailBlockedCleanup, "-1-vm")
	if told := strings.Join(w.drain(), "\n"); !strings.Contains(told, "Warning BlockedCleanup") {
		t.Errorf("no warning of a blocked cleanup: %s", told)
	}
	if c := w.condition(v1alpha1.ConditionComplete); c.Status == metav1.ConditionTrue {
		t.Error("the run is complete with a pod left")
	}
	edit(w, w.pod(v1alpha1.RoleVM), func(p *corev1.Pod) { p.Finalizers = nil })
	w.wantComplete()
}

func TestADeletedRunGoesOnlyWhenNothingIsLeft(t *testing.T) {
	for name, reach := range map[string]func(*world){
		"before it was placed":     (*world).toVMPod,
		"while the source is read": (*world).toPlaced,
		"while the proxy starts":   (*world).toProxyStarting,
		"while VMs run":            (*world).toRunning,
	} {
		t.Run(name, func(t *testing.T) {
			w, run := readyWorld(t)
			reach(w)
			stuck := w.pod(v1alpha1.RoleVM)
			edit(w, stuck, func(p *corev1.Pod) { p.Finalizers = []string{"test/stuck"} })
			w.remove(w.run())
			w.settle()
			if got := w.run(); got.DeletionTimestamp.IsZero() || got.Status.Phase != v1alpha1.PhaseTearingDown {
				t.Errorf("phase is %s, deletion %v", got.Status.Phase, got.DeletionTimestamp)
			}
			edit(w, stuck, func(p *corev1.Pod) { p.Finalizers = nil })
			w.settle2()
			w.advance(cleanedBound)
			w.settle2()
			if err := w.client.Get(context.Background(), runKey, run); !apierrors.IsNotFound(err) {
				t.Errorf("the run is still there: %v", err)
			}
			if left := w.objects(); len(left) > 0 {
				t.Errorf("objects left behind: %v", left)
			}
		})
	}
}

// settle2 makes passes over a run that may go.
func (w *world) settle2() {
	w.t.Helper()
	for range 4 {
		w.pass()
	}
}

func TestTeardownThatTheAPIFailsIsTriedAgain(t *testing.T) {
	w, _ := readyWorld(t)
	w.toRunning()
	w.finished()
	w.pass()
	w.fail = func(verb string, o runtime.Object) error {
		if _, pod := o.(*corev1.Pod); pod && verb == "delete" {
			return errAPI
		}
		return nil
	}
	if _, err := w.r.Reconcile(context.Background(), ctrl.Request{NamespacedName: runKey}); !errors.Is(err, errAPI) {
		t.Fatalf("the pass answered %v, want the API's error", err)
	}
	w.fail = nil
	w.wantComplete()
}

func TestAStatusThatCannotBeWrittenTellsNoEvent(t *testing.T) {
	w, _ := readyWorld(t)
	w.fail = func(verb string, o runtime.Object) error {
		if verb == "patch status" {
			return errAPI
		}
		return nil
	}
	if _, err := w.r.Reconcile(context.Background(), ctrl.Request{NamespacedName: runKey}); !errors.Is(err, errAPI) {
		t.Fatalf("the pass answered %v, want the API's error", err)
	}
	if told := w.drain(); len(told) > 0 {
		t.Errorf("told %v", told)
	}
	w.fail = nil
	w.settle()
	if told := strings.Join(w.drain(), "\n"); strings.Count(told, "Normal Admitted") != 1 {
		t.Errorf("want one event of admission:\n%s", told)
	}
}

func TestAConflictIsNotAnError(t *testing.T) {
	w, _ := readyWorld(t)
	w.fail = func(verb string, o runtime.Object) error {
		if verb == "patch status" {
			return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("ztruns").GroupResource(), "fix", errAPI)
		}
		return nil
	}
	if result := w.pass(); result.RequeueAfter == 0 {
		t.Error("a conflict asks for no other pass")
	}
}

func TestObjectsOfARunThatVanishedAreSwept(t *testing.T) {
	w, run := readyWorld(t)
	w.toRunning()
	edit(w, run, func(r *v1alpha1.ZTRun) { r.Finalizers = nil })
	w.remove(run)
	w.pass()
	if left := w.objects(); len(left) > 0 {
		t.Errorf("objects left behind: %v", left)
	}
}

func TestSweepingSparesARunThatOnlyTheCacheMissed(t *testing.T) {
	w, _ := readyWorld(t)
	w.toRunning()
	before := w.objects()
	if err := w.r.sweepOrphans(context.Background(), runKey); err != nil {
		t.Fatal(err)
	}
	if after := w.objects(); !slices.Equal(before, after) {
		t.Errorf("the objects of a living run were swept: %v", after)
	}
}

func TestACompletedRunExpires(t *testing.T) {
	w, run := readyWorld(t, func(b *builders.RunBuilder) { b.TTL(60) })
	w.toRunning()
	w.finished()
	if result := w.settle(); result.RequeueAfter != time.Minute {
		t.Errorf("the next pass is in %s, want the time to live", result.RequeueAfter)
	}
	w.advance(59 * time.Second)
	w.settle()
	w.run()
	w.advance(time.Second)
	w.settle2()
	if err := w.client.Get(context.Background(), runKey, run); !apierrors.IsNotFound(err) {
		t.Errorf("the expired run is still there: %v", err)
	}
}

func TestARunWithATimeToLiveOfZeroIsSeenCompleteFirst(t *testing.T) {
	w, _ := readyWorld(t, func(b *builders.RunBuilder) { b.TTL(0) })
	w.toRunning()
	w.finished()
	for w.run().Status.Timings.Completed == nil {
		w.pass()
	}
	if phase := w.run().Status.Phase; phase != v1alpha1.PhaseComplete {
		t.Errorf("phase is %s, want Complete", phase)
	}
}

func TestAPassThatChangesNothingWritesNothing(t *testing.T) {
	for name, reach := range map[string]func(*world){
		"waiting for the scheduler": (*world).toVMPod,
		"reading the source":        (*world).toPlaced,
		"waiting for the mirror":    (*world).toProxyStarting,
		"waiting for Squid":         (*world).toSquidStarting,
		"running":                   (*world).toRunning,
		"complete":                  func(w *world) { w.toRunning(); w.finished(); w.settle() },
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := readyWorld(t)
			reach(w)
			w.drain()
			w.writes = nil
			w.advance(time.Second)
			for range 3 {
				w.pass()
			}
			if len(w.writes) > 0 {
				t.Errorf("wrote %v", w.writes)
			}
			if told := w.drain(); len(told) > 0 {
				t.Errorf("told %v", told)
			}
		})
	}
}

func TestEachTransitionIsToldOnce(t *testing.T) {
	w, _ := readyWorld(t)
	w.toRunning()
	w.finished()
	w.settle()
	told := w.drain()
	for _, want := range []string{
		"Normal Admitted Admitted: ", "Normal Scheduled Scheduled: ", "Normal SourceRead SourceRead: ", "Normal ProxyReady ProxyReady: ",
		"Normal Provisioned Provisioned: ", "Normal NoNetwork Isolated: ", "Normal Verified Verified: ", "Normal TornDown TornDown: ",
		"Normal ReproducedAndFixed Complete: ",
	} {
		n := 0
		for _, event := range told {
			if strings.HasPrefix(event, want) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d events %q, want one:\n%s", n, want, strings.Join(told, "\n"))
		}
	}
}

func TestTheOperatorNeverWritesTheExecution(t *testing.T) {
	w, _ := readyWorld(t)
	w.toRunning()
	e := builders.Execution(1, bundleDigest).Proven().Finished().Object()
	w.logs.text = accessLog
	w.agent(e)
	w.settle()
	got := w.run().Status.Execution
	if got == nil || len(got.Trees) != 3 || !got.Cleaned {
		t.Errorf("the node agent's record became %+v", got)
	}
}
