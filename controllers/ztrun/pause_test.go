package ztrun

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/test/builders"
)

// unansweredLog is of a registry that could not be reached.
const unansweredLog = `{"v":1,"start":"6.13"}
{"v":1,"t":1767323045.123,"ms":12,"src":"10.244.0.6","method":"GET","url":"https://registry.npmjs.org/semver","result":"TCP_MISS","status":503,"up_status":"-","reply_bytes":1234,"dst":"104.16.0.1","bump":"bump","sni":"registry.npmjs.org","rule":"allow_npm","err":"ERR_SECURE_CONNECT_FAIL","err_detail":"X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY"}
`

// unansweredBy is what that log makes of a failed installation.
const unansweredBy = v1alpha1.DetailCertificateUntrusted

// notInstalled is an execution whose first tree could not install its dependencies.
func notInstalled(attempt int32) *v1alpha1.ExecutionStatus {
	e := builders.Execution(attempt, bundleDigest).Tree(v1alpha1.TreeBase, builders.BaseCommit).Finished().Object()
	tree := &e.Trees[0]
	tree.Commands = tree.Commands[:1]
	tree.Commands[0].Classification, tree.Commands[0].ExitCode = v1alpha1.ClassFailed, ptr.To[int32](1)
	tree.NetworkInVerification = nil
	return e
}

func (w *world) unanswered() {
	w.t.Helper()
	w.logs.text = unansweredLog
	w.agent(notInstalled(w.run().Status.Attempt))
}

// wantPaused makes passes until the run is paused, and checks all that a paused run
// shows and has left.
func (w *world) wantPaused(detail v1alpha1.Detail, text string) {
	w.t.Helper()
	w.settle()
	run := w.run()
	if run.Status.Phase != v1alpha1.PhasePaused || run.Status.Outcome != nil || run.Status.Timings.Completed != nil {
		w.t.Fatalf("phase %s, outcome %+v, timings %+v, want a paused run without an outcome", run.Status.Phase, run.Status.Outcome, run.Status.Timings)
	}
	w.wantCondition(v1alpha1.ConditionPaused, metav1.ConditionTrue, detail, text)
	w.wantCondition(v1alpha1.ConditionPaused, metav1.ConditionTrue, detail,
		fmt.Sprintf("kubectl zt resume -n team-a fix (it sets the annotation zt.ai-dossier.org/resume=%d)", run.Status.Attempt))
	if entry, _ := v1alpha1.Explain(detail); !strings.Contains(w.condition(v1alpha1.ConditionPaused).Message, entry.Remedy) {
		w.t.Errorf("the pause says no remedy: %s", w.condition(v1alpha1.ConditionPaused).Message)
	}
	w.wantCondition(v1alpha1.ConditionTornDown, metav1.ConditionTrue, v1alpha1.DetailTornDown, fmt.Sprintf("attempt %d", run.Status.Attempt))
	w.wantCondition(v1alpha1.ConditionComplete, metav1.ConditionFalse, v1alpha1.DetailPaused, "")
	if left := w.objects(); len(left) > 0 {
		w.t.Errorf("a paused run left %v", left)
	}
	last := run.Status.Attempts[len(run.Status.Attempts)-1]
	if last.Attempt != run.Status.Attempt || last.End != v1alpha1.AttemptPaused || last.Detail != detail || last.TornDownAt == nil || last.NodeName != node1 {
		w.t.Errorf("the attempt is recorded as %+v", last)
	}
}

// resume sets the annotation, as kubectl zt resume does.
func (w *world) resume(attempt string) {
	w.t.Helper()
	edit(w, w.run(), func(r *v1alpha1.ZTRun) {
		metav1.SetMetaDataAnnotation(&r.ObjectMeta, v1alpha1.ResumeAnnotation, attempt)
	})
}

func TestAFailureOfProvisioningPauses(t *testing.T) {
	for name, tc := range map[string]struct {
		log       string
		change    func(*v1alpha1.ExecutionStatus)
		detail    v1alpha1.Detail
		condition string
	}{
		"a registry that did not answer": {unansweredLog, func(*v1alpha1.ExecutionStatus) {}, unansweredBy, v1alpha1.ConditionProvisioned},
		"an installation that failed by itself": {strings.Split(unansweredLog, "\n")[0] + "\n", func(*v1alpha1.ExecutionStatus) {},
			v1alpha1.DetailInstallFailed, v1alpha1.ConditionProvisioned},
		"an installation that took too long": {unansweredLog, func(e *v1alpha1.ExecutionStatus) {
			e.Trees[0].Commands[0].ExitCode, e.Trees[0].Commands[0].TimedOut = nil, true
		}, v1alpha1.DetailInstallTimedOut, v1alpha1.ConditionProvisioned},
		"a proxy that the agent never saw ready": {unansweredLog, func(e *v1alpha1.ExecutionStatus) {
			e.Trees = nil
			e.Failure = &v1alpha1.Outcome{Result: v1alpha1.ResultProvisioningFailed, Detail: v1alpha1.DetailProxyNotReady, Message: "no"}
		}, v1alpha1.DetailProxyNotReady, v1alpha1.ConditionProxyReady},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := readyWorld(t)
			w.toRunning()
			w.drain()
			w.logs.text = tc.log
			e := notInstalled(1)
			tc.change(e)
			w.agent(e)
			w.wantPaused(tc.detail, "attempt 1 of at most 8")
			w.wantCondition(tc.condition, metav1.ConditionFalse, tc.detail, "")
			told := strings.Join(w.drain(), "\n")
			for _, want := range []string{"Warning " + tc.detail.Reason() + " Paused: ", "Warning " + tc.detail.Reason() + " not " + tc.condition} {
				if strings.Count(told, want) != 1 {
					t.Errorf("want one event %q:\n%s", want, told)
				}
			}
		})
	}
}

func TestWhatPeopleCannotMendEndsTheRun(t *testing.T) {
	for name, tc := range map[string]struct {
		log    string
		change func(*v1alpha1.ExecutionStatus)
		result v1alpha1.Result
		detail v1alpha1.Detail
	}{
		"the policy denied a request: a refusal is never answered with a wider network": {
			accessLog, func(*v1alpha1.ExecutionStatus) {}, v1alpha1.ResultProvisioningFailed, v1alpha1.DetailRequestDenied},
		"the package manager refused other bytes than were locked": {unansweredLog, func(e *v1alpha1.ExecutionStatus) {
			e.Trees[0].Commands[0].OutputTail = "npm error code EINTEGRITY"
		}, v1alpha1.ResultProvisioningFailed, v1alpha1.DetailArtifactHashMismatch},
		"the mirror held a file that no lockfile names": {unansweredLog, func(e *v1alpha1.ExecutionStatus) {
			e.CacheAudit = &v1alpha1.CacheAudit{Checked: 1, Rejected: 1, Findings: []v1alpha1.RejectedArtifact{{Artifact: "x", Finding: "not_in_lock"}}}
		}, v1alpha1.ResultProvisioningFailed, v1alpha1.DetailInstallFailed},
		"the source is refused": {unansweredLog, func(e *v1alpha1.ExecutionStatus) {
			e.Failure = &v1alpha1.Outcome{Result: v1alpha1.ResultUnsupportedEnvironment, Detail: v1alpha1.DetailMissingLockfile, Message: "no"}
		}, v1alpha1.ResultUnsupportedEnvironment, v1alpha1.DetailMissingLockfile},
		"a failure of another class that claims a pausing detail": {unansweredLog, func(e *v1alpha1.ExecutionStatus) {
			e.Failure = &v1alpha1.Outcome{Result: v1alpha1.ResultExecutionFailed, Detail: v1alpha1.DetailProxyNotReady, Message: "no"}
		}, v1alpha1.ResultExecutionFailed, v1alpha1.DetailProxyNotReady},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := readyWorld(t)
			w.toRunning()
			w.logs.text = tc.log
			e := notInstalled(1)
			tc.change(e)
			w.agent(e)
			w.wantComplete()
			w.wantOutcome(tc.result, tc.detail, "")
			if run := w.run(); len(run.Status.Attempts) > 0 || meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionPaused) != nil {
				t.Errorf("a run that ended shows a pause: %+v", run.Status.Attempts)
			}
		})
	}
}

func TestAResumedRunMakesOneMoreAttemptFromScratch(t *testing.T) {
	w, _ := readyWorld(t)
	w.toRunning()
	w.unanswered()
	w.wantPaused(unansweredBy, "")
	before := w.run().Status.Timings.Scheduled
	w.advance(72 * time.Hour)
	w.drain()
	w.resume("1")
	w.settle()
	status := w.run().Status
	if status.Attempt != 2 || status.VMPod != nil || status.NodeName != "" || status.Proxy != nil || status.Egress != nil || status.Ended() != nil {
		t.Fatalf("after the resume: %+v", status)
	}
	w.wantCondition(v1alpha1.ConditionPaused, metav1.ConditionFalse, v1alpha1.DetailResumed, "")
	if c := w.condition(v1alpha1.ConditionTornDown); c.Status == metav1.ConditionTrue {
		t.Error("an attempt is being made, and TornDown is True")
	}
	for _, object := range w.objects() {
		if !strings.Contains(object, "-2-") {
			t.Errorf("%s is not of the second attempt", object)
		}
	}
	// Hours later the time limits begin anew.
	w.toRunning()
	if after := w.run().Status.Timings.Scheduled; !after.After(before.Time) {
		t.Errorf("the run's time still counts from %s", after)
	}
	w.logs.text = accessLog
	w.agent(builders.Execution(2, bundleDigest).Proven().Finished().Object())
	w.wantComplete()
	w.wantOutcome(v1alpha1.ResultReproducedAndFixed, v1alpha1.DetailReproducedAndFixed, "")
	if got := w.run().Status.Attempts; len(got) != 1 || got[0].Attempt != 1 || got[0].Detail != unansweredBy {
		t.Errorf("the first attempt is recorded as %+v", got)
	}
}

func TestOneResumeIsFollowedByOneAttempt(t *testing.T) {
	w, _ := readyWorld(t)
	w.toRunning()
	w.unanswered()
	w.wantPaused(unansweredBy, "")
	w.resume("1")
	w.settle()
	w.toRunning()
	w.unanswered()
	w.wantPaused(unansweredBy, "attempt 2 of")
	// The annotation is still there, and it is set again.
	w.resume("1")
	w.settle()
	if got := w.run().Status.Attempt; got != 2 {
		t.Errorf("an old resume started attempt %d", got)
	}
	w.resume("2")
	w.settle()
	if got := w.run().Status; got.Attempt != 3 || len(got.Attempts) != 2 {
		t.Errorf("attempt %d after %d", got.Attempt, len(got.Attempts))
	}
}

func TestWhatIsNotTheAttemptsNumberResumesNothing(t *testing.T) {
	for _, value := range []string{"", "0", "2", "true", "now", "01", " 1", "1 "} {
		t.Run("the annotation "+value, func(t *testing.T) {
			w, _ := readyWorld(t)
			w.toRunning()
			w.unanswered()
			w.wantPaused(unansweredBy, "")
			w.resume(value)
			w.wantPaused(unansweredBy, "")
		})
	}
}

func TestAResumeBeforeTheTeardownWaitsForIt(t *testing.T) {
	w, _ := readyWorld(t)
	w.toRunning()
	stuck := w.pod(v1alpha1.RoleVM)
	edit(w, stuck, func(p *corev1.Pod) { p.Finalizers = []string{"test/stuck"} })
	w.unanswered()
	w.settle()
	if phase := w.run().Status.Phase; phase != v1alpha1.PhaseTearingDown {
		t.Errorf("phase is %s, want TearingDown", phase)
	}
	if c := meta.FindStatusCondition(w.run().Status.Conditions, v1alpha1.ConditionPaused); c != nil {
		t.Error("the run is called paused with a pod left")
	}
	w.resume("1")
	w.settle()
	if got := w.run().Status.Attempt; got != 1 {
		t.Errorf("attempt %d began with a pod of the first left", got)
	}
	edit(w, stuck, func(p *corev1.Pod) { p.Finalizers = nil })
	w.settle()
	if got := w.run().Status.Attempt; got != 2 {
		t.Errorf("attempt is %d, want 2", got)
	}
}

func TestAttemptsAreBounded(t *testing.T) {
	w, _ := readyWorld(t)
	for attempt := int32(1); attempt < v1alpha1.MaxAttempts; attempt++ {
		w.toRunning()
		w.unanswered()
		w.wantPaused(unansweredBy, fmt.Sprintf("attempt %d of", attempt))
		w.resume(fmt.Sprint(attempt))
		w.settle()
	}
	w.toRunning()
	w.unanswered()
	w.wantComplete()
	w.wantOutcome(v1alpha1.ResultProvisioningFailed, unansweredBy, "attempt 8, the last one")
	if got := w.run().Status; got.Attempt != v1alpha1.MaxAttempts || len(got.Attempts) != v1alpha1.MaxAttempts-1 {
		t.Errorf("attempt %d after %d recorded ones", got.Attempt, len(got.Attempts))
	}
}

func TestInterruptionsAreCountedInARow(t *testing.T) {
	w, _ := readyWorld(t)
	interrupt := func() {
		t.Helper()
		w.toRunning()
		w.remove(w.pod(v1alpha1.RoleVM))
		w.settle()
		w.advance(cleanedBound)
		w.settle()
	}
	interrupt()
	w.toRunning()
	w.unanswered()
	w.wantPaused(unansweredBy, "attempt 2 of")
	w.resume("2")
	w.settle()
	interrupt()
	if got := w.run().Status; got.Attempt != 4 || got.Outcome != nil {
		t.Fatalf("after an interruption, a pause and another interruption: attempt %d, outcome %+v", got.Attempt, got.Outcome)
	}
	var ends []v1alpha1.AttemptEnd
	for _, record := range w.run().Status.Attempts {
		ends = append(ends, record.End)
	}
	if fmt.Sprint(ends) != "[Interrupted Paused Interrupted]" {
		t.Errorf("recorded %v", ends)
	}
	interrupt()
	w.wantOutcome(v1alpha1.ResultExecutionFailed, v1alpha1.DetailExecutionInterrupted, "attempt 4 was interrupted and is not made again by itself")
}

func TestAResumedRunWhoseSourceIsGoneSaysSo(t *testing.T) {
	w, _ := readyWorld(t)
	w.toRunning()
	w.unanswered()
	w.wantPaused(unansweredBy, "")
	w.remove(builders.Bundle("team-a", "fix", nil))
	w.resume("1")
	w.wantComplete()
	w.wantOutcome(v1alpha1.ResultInvalidSource, v1alpha1.DetailBundleMissing, `no ConfigMap "fix" in namespace team-a`)
}

func TestAResumedRunIsHeldToItsRecordedRuntime(t *testing.T) {
	w, _ := readyWorld(t)
	w.toRunning()
	w.unanswered()
	w.wantPaused(unansweredBy, "")
	edit(w, builders.Profile("default").Object(), func(p *v1alpha1.ZTProfile) {
		p.Spec.Runtimes[0].Version = "22.24.0"
		p.Spec.Limits.ProvisioningSeconds = 1200
	})
	w.resume("1")
	w.settle()
	w.toPlaced()
	w.agent(builders.Execution(2, bundleDigest).Select(func(r *v1alpha1.RuntimeRecord) { r.Version = "22.24.0" }).Object())
	w.settle()
	w.wantOutcome(v1alpha1.ResultUnsupportedEnvironment, v1alpha1.DetailRecordMismatch, `version "22.23.5", this attempt comes to "22.24.0"`)
}

func TestAResumedRunThatIsSuspendedWaitsForBoth(t *testing.T) {
	w, _ := readyWorld(t)
	w.toRunning()
	w.unanswered()
	w.wantPaused(unansweredBy, "")
	edit(w, w.run(), func(r *v1alpha1.ZTRun) { r.Spec.Suspend = true })
	w.wantPaused(unansweredBy, "")
	w.resume("1")
	w.settle()
	if got := w.run().Status; got.Phase != v1alpha1.PhaseSuspended || got.Attempt != 2 || len(w.objects()) > 0 {
		t.Errorf("phase %s, attempt %d, objects %v", got.Phase, got.Attempt, w.objects())
	}
	edit(w, w.run(), func(r *v1alpha1.ZTRun) { r.Spec.Suspend = false })
	w.settle()
	w.pod(v1alpha1.RoleVM)
}

func TestAResumedRunWaitsForANodeAsLongAsANewOne(t *testing.T) {
	w, _ := readyWorld(t)
	w.toRunning()
	w.unanswered()
	w.wantPaused(unansweredBy, "")
	edit(w, builders.Profile("default").Object(), func(p *v1alpha1.ZTProfile) { p.Status.Nodes = nil })
	w.advance(24 * time.Hour)
	w.resume("1")
	w.settle()
	w.wantCondition(v1alpha1.ConditionAdmitted, metav1.ConditionFalse, v1alpha1.DetailWaitingForProfile, "")
	w.advance(601 * time.Second)
	w.settle()
	w.wantOutcome(v1alpha1.ResultNotAdmitted, v1alpha1.DetailNoCapableNode, "")
}

func TestAPausedRunIsKeptAndCanBeDeleted(t *testing.T) {
	w, run := readyWorld(t, func(b *builders.RunBuilder) { b.TTL(1) })
	w.toRunning()
	w.unanswered()
	w.wantPaused(unansweredBy, "")
	w.advance(365 * 24 * time.Hour)
	w.wantPaused(unansweredBy, "")
	w.remove(w.run())
	w.pass()
	if err := w.client.Get(context.Background(), runKey, run); !apierrors.IsNotFound(err) {
		t.Errorf("the deleted run is still there: %v", err)
	}
}

func TestAPausedRunIsNotWrittenAgain(t *testing.T) {
	w, _ := readyWorld(t)
	w.toRunning()
	w.unanswered()
	w.wantPaused(unansweredBy, "")
	w.drain()
	w.writes = nil
	w.advance(time.Hour)
	for range 3 {
		if result := w.pass(); result.RequeueAfter != 0 {
			t.Errorf("a paused run asks for a pass in %s", result.RequeueAfter)
		}
	}
	if told := w.drain(); len(w.writes) > 0 || len(told) > 0 {
		t.Errorf("wrote %v, told %v", w.writes, told)
	}
}

func TestALongMessageLeavesRoomForWhatToDo(t *testing.T) {
	run := builders.Run(strings.Repeat("n", 63)).Namespace(strings.Repeat("s", 63)).Object()
	for _, section := range v1alpha1.Catalogue {
		for _, entry := range section.Entries {
			record := &v1alpha1.AttemptRecord{Attempt: 1, Detail: entry.Detail, Message: strings.Repeat("x", 1024)}
			if text := pauseMessage(run, record); entry.Detail.Pauses() && len(text) > 1024 {
				t.Errorf("%s: the message has %d bytes", entry.Detail, len(text))
			}
		}
	}
}
