package ztrun

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/test/builders"
)

func scopeWith(change func(*v1alpha1.ZTRun)) *scope {
	run := builders.Run("fix").UID("u").Created(epoch).Object()
	change(run)
	return newScope(run, epoch)
}

func TestAnOutcomeConcernsTheConditionItKeptFromComingTrue(t *testing.T) {
	admittedOnly := func(r *v1alpha1.ZTRun) { r.Status.Timings = &v1alpha1.RunTimings{Admitted: &metav1.Time{Time: epoch}} }
	placedToo := func(r *v1alpha1.ZTRun) {
		admittedOnly(r)
		r.Status.Attempt, r.Status.NodeName, r.Status.VMPod = 1, node1, &v1alpha1.PodRef{Name: "vm", UID: "u"}
	}
	for name, tc := range map[string]struct {
		reached func(*v1alpha1.ZTRun)
		result  v1alpha1.Result
		detail  v1alpha1.Detail
		want    string
	}{
		"no capable node: Admitted":                      {func(*v1alpha1.ZTRun) {}, v1alpha1.ResultNotAdmitted, v1alpha1.DetailNoCapableNode, v1alpha1.ConditionAdmitted},
		"no room: Scheduled":                             {admittedOnly, v1alpha1.ResultNotAdmitted, v1alpha1.DetailCapacityTimedOut, v1alpha1.ConditionScheduled},
		"no bundle: SourceRead":                          {admittedOnly, v1alpha1.ResultInvalidSource, v1alpha1.DetailBundleMissing, v1alpha1.ConditionSourceRead},
		"no lockfile: SourceRead":                        {placedToo, v1alpha1.ResultUnsupportedEnvironment, v1alpha1.DetailMissingLockfile, v1alpha1.ConditionSourceRead},
		"no proxy: ProxyReady":                           {placedToo, v1alpha1.ResultProvisioningFailed, v1alpha1.DetailProxyNotReady, v1alpha1.ConditionProxyReady},
		"a failed install: Provisioned":                  {placedToo, v1alpha1.ResultProvisioningFailed, v1alpha1.DetailInstallFailed, v1alpha1.ConditionProvisioned},
		"a network in verification: Isolated":            {placedToo, v1alpha1.ResultExecutionFailed, v1alpha1.DetailNetworkPresent, v1alpha1.ConditionIsolated},
		"an inconclusive command: Verified":              {placedToo, v1alpha1.ResultInconclusive, v1alpha1.DetailCommandInconclusive, v1alpha1.ConditionVerified},
		"a node's error: the first that was not reached": {placedToo, v1alpha1.ResultExecutionFailed, v1alpha1.DetailNodeError, v1alpha1.ConditionSourceRead},
		"a verdict: none":                                {placedToo, v1alpha1.ResultNotFixed, v1alpha1.DetailRegressionStillFail, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := scopeWith(func(r *v1alpha1.ZTRun) {
				tc.reached(r)
				r.Status.Outcome = &v1alpha1.Outcome{Result: tc.result, Detail: tc.detail, Message: "why"}
			})
			if got := concernedBy(s); got != tc.want {
				t.Errorf("concerns %q, want %q", got, tc.want)
			}
			if tc.want == "" {
				return
			}
			c := meta.FindStatusCondition(conditions(s), tc.want)
			if c.Status != metav1.ConditionFalse || c.Reason != tc.detail.Reason() || c.Message != "why" {
				t.Errorf("%s is %s/%s %q", tc.want, c.Status, c.Reason, c.Message)
			}
		})
	}
}

func TestProgressConditionsFollowTheTrees(t *testing.T) {
	oneDone := func() *builders.ExecutionBuilder {
		return builders.Execution(1, bundleDigest).State(v1alpha1.ExecutionRunning).
			Tree(v1alpha1.TreeBase, builders.BaseCommit, builders.Command("suite", v1alpha1.ClassPassed))
	}
	networked := oneDone().Object()
	networked.Trees[0].NetworkInVerification = ptr.To(true)
	booting := oneDone().Object()
	booting.Trees[0] = v1alpha1.TreeStatus{Name: v1alpha1.TreeBase, State: v1alpha1.TreeBooting}
	uninstalled := notInstalled(1)
	failedInstall := builders.Execution(1, bundleDigest).Proven().Finished().Object()
	failedInstall.Trees[2].Commands[0].Classification = v1alpha1.ClassFailed
	for name, tc := range map[string]struct {
		e                               *v1alpha1.ExecutionStatus
		provisioned, isolated, verified metav1.ConditionStatus
	}{
		"no record":                             {nil, "Unknown", "Unknown", "Unknown"},
		"the first VM boots":                    {booting, "False", "Unknown", "Unknown"},
		"one of three trees is done":            {oneDone().Object(), "False", "Unknown", "False"},
		"a VM had a network":                    {networked, "False", "False", "False"},
		"the last tree is recorded":             {builders.Execution(1, "").State(v1alpha1.ExecutionRunning).Proven().Object(), "True", "True", "False"},
		"finished after one tree, as some do":   {oneDone().Finished().Object(), "True", "True", "False"},
		"the last tree's install failed":        {failedInstall, "False", "True", "False"},
		"the first tree's install failed":       {uninstalled, "False", "Unknown", "Unknown"},
		"the record is of another attempt":      {builders.Execution(2, "").Proven().Object(), "Unknown", "Unknown", "Unknown"},
		"finished without any tree being begun": {builders.Execution(1, "").Finished().Object(), "Unknown", "Unknown", "Unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			list := conditions(scopeWith(func(r *v1alpha1.ZTRun) { r.Status.Attempt, r.Status.Execution = 1, tc.e }))
			for condition, want := range map[string]metav1.ConditionStatus{
				v1alpha1.ConditionProvisioned: tc.provisioned, v1alpha1.ConditionIsolated: tc.isolated, v1alpha1.ConditionVerified: tc.verified,
			} {
				if got := meta.FindStatusCondition(list, condition); got.Status != want {
					t.Errorf("%s is %s/%s, want %s", condition, got.Status, got.Reason, want)
				}
			}
		})
	}
}

func TestHostileTextInAnOutcomeIsEscapedAndBounded(t *testing.T) {
	o := boundedOutcome(v1alpha1.Outcome{
		Subject: "a\x1b[2Jb" + strings.Repeat("x", 400), Message: "line\r\n\u202e" + strings.Repeat("y", 4000),
	})
	if len(o.Subject) > maxSubject || len(o.Message) > maxMessage || strings.ContainsAny(o.Subject+o.Message, "\x1b\r\n\u202e") {
		t.Errorf("subject %.40q (%d bytes), message %.40q (%d bytes)", o.Subject, len(o.Subject), o.Message, len(o.Message))
	}
}
