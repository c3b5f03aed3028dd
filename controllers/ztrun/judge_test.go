package ztrun

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/test/builders"
)

const accessLog = `{"v":1,"start":"6.13"}
{"v":1,"t":1767323045.123,"ms":12,"src":"10.244.0.6","method":"GET","url":"https://registry.npmjs.org/semver","result":"TCP_MISS","status":200,"up_status":"200","reply_bytes":1234,"dst":"104.16.0.1","bump":"bump","sni":"registry.npmjs.org","rule":"allow_npm","err":"-","err_detail":"-"}
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
	run.Status.Runtime = builders.Selected()
	run.Status.Egress = &v1alpha1.EgressStatus{Admitted: 1, Audit: &v1alpha1.EgressAudit{Judged: 1}}
	unrecorded := run.DeepCopy()
	unrecorded.Status.Runtime = nil
	with := func(change func(*v1alpha1.EgressStatus)) *v1alpha1.ZTRun {
		changed := run.DeepCopy()
		change(changed.Status.Egress)
		return changed
	}
	violated := with(func(e *v1alpha1.EgressStatus) {
		e.Audit.Violations, e.Audit.Found = 1, []v1alpha1.EgressViolation{{Seen: "allow_npm", Expected: "path_not_allowed", Request: "https://registry.npmjs.org/-/whoami"}}
	})
	blind := run.DeepCopy()
	blind.Status.Egress = nil
	proven := func() *builders.ExecutionBuilder { return builders.Execution(1, bundleDigest).Proven().Finished() }
	otherCommit := proven().Object()
	otherCommit.Trees[2].Commit = builders.Commit("d")
	audited := func(change func(*v1alpha1.CacheAudit)) *v1alpha1.ExecutionStatus {
		e := proven().Object()
		change(e.CacheAudit)
		return e
	}
	rejected := audited(func(a *v1alpha1.CacheAudit) {
		a.Rejected, a.Findings = 1, []v1alpha1.RejectedArtifact{{Artifact: "ms/ms-2.1.3.tgz", Finding: "hash_mismatch"}}
	})
	uncached := proven().Object()
	uncached.CacheAudit = nil
	clean := run.DeepCopy()
	unnamed := &v1alpha1.CacheAudit{Rejected: 1, Findings: []v1alpha1.RejectedArtifact{{Artifact: "ms/ms-9.9.9.tgz", Finding: "not_in_lock"}}}
	uninstalled := func(cache *v1alpha1.CacheAudit) *v1alpha1.ExecutionStatus {
		e := proven().Object()
		e.Trees = e.Trees[:1]
		e.Trees[0].Commands = e.Trees[0].Commands[:1]
		e.Trees[0].Commands[0].Classification, e.Trees[0].Commands[0].ExitCode = v1alpha1.ClassFailed, ptr.To[int32](1)
		e.CacheAudit = cache
		return e
	}
	eintegrity := uninstalled(nil)
	eintegrity.Trees[0].Commands[0].OutputTail = "npm error code EINTEGRITY"
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
		"a request that should not have gone out is a failure, whatever the tests say": {
			violated, proven().Object(), v1alpha1.ResultExecutionFailed, v1alpha1.DetailEgressViolation,
		},
		"a request that should not have gone out is told before the agent's own failure": {
			violated, builders.Execution(1, bundleDigest).Failed(v1alpha1.ResultExecutionFailed, v1alpha1.DetailVMLost).Object(),
			v1alpha1.ResultExecutionFailed, v1alpha1.DetailEgressViolation,
		},
		"a log that was not judged again proves nothing": {
			with(func(e *v1alpha1.EgressStatus) { e.Audit = nil }), proven().Object(), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete,
		},
		"a log that was judged in part proves nothing": {
			with(func(e *v1alpha1.EgressStatus) { e.Truncated = true }), proven().Object(), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete,
		},
		"an installation that failed by itself": {clean, uninstalled(nil), v1alpha1.ResultProvisioningFailed, v1alpha1.DetailInstallFailed},
		"an installation whose registry did not answer": {
			with(func(e *v1alpha1.EgressStatus) {
				e.Failed, e.Denied = 3, 1
				e.Failures = []v1alpha1.FailureCount{{Reason: v1alpha1.DetailRegistryUnreachable, Count: 2}, {Reason: v1alpha1.DetailRegistryTimedOut, Count: 1}}
			}), uninstalled(nil), v1alpha1.ResultProvisioningFailed, v1alpha1.DetailRegistryUnreachable,
		},
		"an installation that broke its requests off itself": {
			with(func(e *v1alpha1.EgressStatus) { e.Failed = 2 }), uninstalled(nil), v1alpha1.ResultProvisioningFailed, v1alpha1.DetailInstallFailed,
		},
		"an installation that asked for what the policy denies": {
			with(func(e *v1alpha1.EgressStatus) { e.Denied = 1 }), uninstalled(nil), v1alpha1.ResultProvisioningFailed, v1alpha1.DetailRequestDenied,
		},
		"an installation that refused other bytes than its lockfile's": {
			with(func(e *v1alpha1.EgressStatus) { e.Denied = 1 }), uninstalled(rejected.CacheAudit), v1alpha1.ResultProvisioningFailed, v1alpha1.DetailArtifactHashMismatch,
		},
		"an installation that refused bytes which another tree's lockfile names": {
			with(func(e *v1alpha1.EgressStatus) { e.Failed = 1 }), eintegrity, v1alpha1.ResultProvisioningFailed, v1alpha1.DetailArtifactHashMismatch,
		},
		"an installation that failed beside a file of no lockfile": {
			clean, uninstalled(unnamed), v1alpha1.ResultProvisioningFailed, v1alpha1.DetailInstallFailed,
		},
		"a file that no lockfile names is a failure":  {run, rejected, v1alpha1.ResultExecutionFailed, v1alpha1.DetailCacheAuditFailed},
		"a cache that was not audited proves nothing": {run, uncached, v1alpha1.ResultInconclusive, v1alpha1.DetailCacheAuditMissing},
		"a cache that was audited after two trees of three proves nothing": {
			run, audited(func(a *v1alpha1.CacheAudit) { a.Trees = a.Trees[:2] }), v1alpha1.ResultInconclusive, v1alpha1.DetailCacheAuditMissing,
		},
		"an audit that could not be made proves nothing": {
			run, audited(func(a *v1alpha1.CacheAudit) { a.Problem = "connection refused" }), v1alpha1.ResultInconclusive, v1alpha1.DetailCacheAuditMissing,
		},
		"an audit that does not add up proves nothing": {
			run, audited(func(a *v1alpha1.CacheAudit) { a.Admitted-- }), v1alpha1.ResultInconclusive, v1alpha1.DetailCacheAuditMissing,
		},
		"trees of other commits than the run's prove nothing": {
			run, otherCommit, v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete,
		},
		"another runtime than the one that was recorded proves nothing": {
			run, proven().Select(func(r *v1alpha1.RuntimeRecord) { r.Image = builders.Image("other", "9").Image }).Object(),
			v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete,
		},
		"without a recorded runtime there is no proof": {unrecorded, proven().Object(), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete},
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
