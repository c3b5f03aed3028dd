package ztrun

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/test/builders"
)

const accessLog = `{"v":1,"t":1767323045.123,"ms":12,"src":"10.244.0.6","method":"GET","url":"https://registry.npmjs.org/semver","result":"TCP_MISS","status":200,"up_status":"200","reply_bytes":1234,"dst":"104.16.0.1","bump":"bump","sni":"registry.npmjs.org","rule":"allow_npm","err":"-","err_detail":"-"}
{"v":1,"t":1767323045.223,"ms":1,"src":"10.244.0.6","method":"GET","url":"https://registry.npmjs.org/-/whoami","result":"TCP_DENIED","status":403,"up_status":"-","reply_bytes":300,"dst":"-","bump":"bump","sni":"registry.npmjs.org","rule":"path_not_allowed","err":"ERR_ACCESS_DENIED","err_detail":"-"}
`

func TestAProvenRunIsJudgedAndTornDown(t *testing.T) {
	w, _ := readyWorld(t)
	w.toRunning()
	w.logs.text = accessLog
	w.agent(builders.Execution(1, bundleDigest).Proven().Finished().Object())
	w.pass()
	w.wantOutcome(v1alpha1.ResultReproducedAndFixed, v1alpha1.DetailReproducedAndFixed, "")
	if e := w.run().Status.Egress; e == nil || e.Admitted != 1 || e.Denied != 1 {
		t.Errorf("egress is %+v, want one admitted and one denied request", e)
	}
	for _, name := range []string{
		v1alpha1.ConditionAdmitted, v1alpha1.ConditionScheduled, v1alpha1.ConditionSourceRead, v1alpha1.ConditionProxyReady,
		v1alpha1.ConditionProvisioned, v1alpha1.ConditionIsolated, v1alpha1.ConditionVerified,
	} {
		if c := w.condition(name); c.Status != metav1.ConditionTrue {
			t.Errorf("%s is %s/%s: %s", name, c.Status, c.Reason, c.Message)
		}
	}
	w.wantComplete()
	w.wantCondition(v1alpha1.ConditionComplete, metav1.ConditionTrue, v1alpha1.DetailReproducedAndFixed, "reproduced_and_fixed")
}

func TestDecide(t *testing.T) {
	run := builders.Run("fix").Object()
	run.Status.Egress = &v1alpha1.EgressStatus{Admitted: 1}
	blind := builders.Run("fix").Object()
	proven := func() *builders.ExecutionBuilder { return builders.Execution(1, bundleDigest).Proven().Finished() }
	otherCommit := proven().Object()
	otherCommit.Trees[2].Commit = builders.Commit("d")
	networked := proven().Object()
	networked.Trees[1].NetworkInVerification = ptr.To(true)
	for name, tc := range map[string]struct {
		run    *v1alpha1.ZTRun
		e      *v1alpha1.ExecutionStatus
		result v1alpha1.Result
		detail v1alpha1.Detail
	}{
		"complete evidence is a verdict": {run, proven().Object(), v1alpha1.ResultReproducedAndFixed, v1alpha1.DetailReproducedAndFixed},
		"a regression test that passed before the fix is a verdict": {
			run, builders.Execution(1, bundleDigest).
				Tree(v1alpha1.TreeBase, builders.BaseCommit, builders.Command("suite", v1alpha1.ClassPassed)).
				Tree(v1alpha1.TreeRegressionTest, builders.RegressionTestCommit, builders.Command("regression", v1alpha1.ClassPassed)).
				Finished().Object(),
			v1alpha1.ResultNotReproduced, v1alpha1.DetailRegressionPassed,
		},
		"a base whose own suite fails is inconclusive": {
			run, builders.Execution(1, bundleDigest).
				Tree(v1alpha1.TreeBase, builders.BaseCommit, builders.Command("suite", v1alpha1.ClassFailed)).Finished().Object(),
			v1alpha1.ResultInconclusive, v1alpha1.DetailBaseSuiteFailed,
		},
		"a proof without a record of its egress is not one": {
			blind, proven().Object(), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete,
		},
		"trees of other commits than the run's prove nothing": {
			run, otherCommit, v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete,
		},
		"another bundle than the one that was given proves nothing": {
			run, builders.Execution(1, "sha256:beef").Proven().Finished().Object(), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete,
		},
		"an execution that ended early proves nothing": {
			run, builders.Execution(1, bundleDigest).Finished().Object(), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete,
		},
		"no source, no proof": {
			run, proven().Without().Object(), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete,
		},
		"a refusal of the source is passed on": {
			run, builders.Execution(1, "").Without().Failed(v1alpha1.ResultInvalidSource, v1alpha1.DetailCommitNotInBundle).Object(),
			v1alpha1.ResultInvalidSource, v1alpha1.DetailCommitNotInBundle,
		},
		"a failure that claims to be a verdict is not believed": {
			run, builders.Execution(1, bundleDigest).Failed(v1alpha1.ResultReproducedAndFixed, v1alpha1.DetailReproducedAndFixed).Object(),
			v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := decide(tc.run, tc.e, bundleDigest)
			if got.Result != tc.result || got.Detail != tc.detail {
				t.Errorf("decided %s/%s %q, want %s/%s", got.Result, got.Detail, got.Message, tc.result, tc.detail)
			}
		})
	}
	if got := decide(run, networked, bundleDigest); isVerdict(got.Result) {
		t.Errorf("a VM with a network gave the verdict %s", got.Result)
	}
}

func TestALogThatStaysUnreadableIsGivenUpInBoundedTime(t *testing.T) {
	w, _ := readyWorld(t)
	w.toRunning()
	w.logs.err = errAPI
	e := builders.Execution(1, bundleDigest).Proven().Finished().Object()
	e.FinishedAt = ptr.To(metav1.NewTime(w.clock.Now()))
	w.agent(e)
	w.settle()
	if o := w.run().Status.Outcome; o != nil {
		t.Fatalf("judged without waiting for the log: %+v", o)
	}
	w.advance(logBound)
	w.pass()
	w.wantOutcome(v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "access log")
}

func TestARefusedSourceEndsWithoutAProxy(t *testing.T) {
	w, _ := readyWorld(t)
	w.toPlaced()
	w.agent(builders.Execution(1, "").Without().Failed(v1alpha1.ResultUnsupportedEnvironment, v1alpha1.DetailMissingLockfile).Object())
	w.pass()
	w.wantOutcome(v1alpha1.ResultUnsupportedEnvironment, v1alpha1.DetailMissingLockfile, "as the agent saw it")
	w.wantCondition(v1alpha1.ConditionSourceRead, metav1.ConditionFalse, v1alpha1.DetailMissingLockfile, "")
	w.wantCondition(v1alpha1.ConditionProxyReady, metav1.ConditionUnknown, v1alpha1.DetailNotReached, "")
	w.wantComplete()
}
