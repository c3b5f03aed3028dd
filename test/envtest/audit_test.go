package envtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/test/builders"
)

// The schema bounds what a status lists; more violations than it has room for must not
// keep the outcome from being written.
func TestARunWithManyViolationsIsFailedAndStillWritten(t *testing.T) {
	p := start(t)
	p.toRunning()
	lines := slices.Collect(strings.Lines(accessLog))
	log := lines[0]
	for i := range 500 {
		log += strings.Replace(lines[1], "https://registry.npmjs.org/semver", fmt.Sprintf("https://registry.npmjs.org/-/%d%s", i, strings.Repeat("\u202e", 2000)), 1)
	}
	logs.set(p.podName(v1alpha1.RoleSquid), log)
	p.agent(builders.Execution(p.run().Status.Attempt, bundleDigest).Proven().Finished().Object())
	p.untilComplete(v1alpha1.ResultExecutionFailed, v1alpha1.DetailEgressViolation)
	audit := p.run().Status.Egress.Audit
	if audit == nil || audit.Violations != 500 || len(audit.Found) != 16 {
		t.Errorf("the audit is %+v", audit)
	}
}

func TestARunWhoseCacheHeldOtherFilesIsFailed(t *testing.T) {
	p := start(t)
	p.toRunning()
	e := builders.Execution(p.run().Status.Attempt, bundleDigest).Proven().Finished().Object()
	e.CacheAudit.Rejected = 20
	for i := range 16 {
		e.CacheAudit.Findings = append(e.CacheAudit.Findings, v1alpha1.RejectedArtifact{Artifact: fmt.Sprint(strings.Repeat("a", 250), i), Finding: "not_in_lock"})
	}
	p.agent(e)
	p.untilComplete(v1alpha1.ResultExecutionFailed, v1alpha1.DetailCacheAuditFailed)
}

func TestARunWithoutACacheAuditProvesNothing(t *testing.T) {
	p := start(t)
	p.toRunning()
	e := builders.Execution(p.run().Status.Attempt, bundleDigest).Proven().Finished().Object()
	e.CacheAudit = nil
	p.agent(e)
	p.untilComplete(v1alpha1.ResultInconclusive, v1alpha1.DetailCacheAuditMissing)
}

func TestAnAuditorThatWasKilledStartsTheAttemptAgain(t *testing.T) {
	p := start(t)
	p.toRunning()
	p.auditorEnds("Error")
	p.until(v1alpha1.ConditionScheduled, metav1.ConditionFalse, v1alpha1.DetailAttemptInterrupted)
}

func TestAnAuditorThatIsOutOfMemoryPausesTheRun(t *testing.T) {
	p := start(t)
	p.toRunning()
	p.auditorEnds("OOMKilled")
	p.eventually("the end of the attempt", func() (bool, string) {
		run := p.run()
		return run.Status.Ended() != nil, conditionText(run, v1alpha1.ConditionProvisioned)
	})
	p.confirmClean(t.Context())
	if run := p.untilPaused(); run.Status.Attempts[0].Detail != v1alpha1.DetailProxyOutOfMemory {
		t.Errorf("paused by %+v", run.Status.Attempts[0])
	}
}

// auditorEnds is the kubelet's word that the container was killed.
func (p *play) auditorEnds(reason string) {
	p.t.Helper()
	p.podStatus(v1alpha1.RoleMirror, corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: "10.244.0.6", PodIPs: []corev1.PodIP{{IP: "10.244.0.6"}},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "auditor", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: reason}},
		}},
	})
}
