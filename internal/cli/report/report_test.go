package report

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

var created = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newRun(result v1alpha1.Result, detail v1alpha1.Detail) *v1alpha1.ZTRun {
	completed := metav1.NewTime(created.Add(83 * time.Second))
	return &v1alpha1.ZTRun{
		ObjectMeta: metav1.ObjectMeta{Name: "fix", Namespace: "team-a", CreationTimestamp: metav1.NewTime(created)},
		Status: v1alpha1.ZTRunStatus{
			NodeName: "n1", Attempt: 1,
			Outcome: &v1alpha1.Outcome{Result: result, Detail: detail},
			Timings: &v1alpha1.RunTimings{Completed: &completed},
		},
	}
}

func command(name string, class v1alpha1.Classification, exit int32) v1alpha1.CommandStatus {
	return v1alpha1.CommandStatus{Name: name, Classification: class, ExitCode: &exit, DurationMillis: 1234}
}

func fixed() *v1alpha1.ZTRun {
	run := newRun(v1alpha1.ResultReproducedAndFixed, v1alpha1.DetailReproducedAndFixed)
	suite := command("suite", v1alpha1.ClassPassed, 0)
	suite.Report = &v1alpha1.ReportCounts{Suites: 1, Tests: 12, Skipped: 1}
	regression := command("regression", v1alpha1.ClassFailed, 1)
	regression.OutputTail = "expected failure"
	run.Status.Execution = &v1alpha1.ExecutionStatus{Attempt: 1, Accelerator: v1alpha1.AcceleratorTCG, Trees: []v1alpha1.TreeStatus{
		{Name: v1alpha1.TreeBase, Commit: strings.Repeat("a", 40), Timings: v1alpha1.VMTimings{BootMillis: 2100},
			NetworkInVerification: ptr.To(false), Commands: []v1alpha1.CommandStatus{command("install", v1alpha1.ClassSucceeded, 0), suite}},
		{Name: v1alpha1.TreeRegressionTest, Commit: strings.Repeat("b", 40), NetworkInVerification: ptr.To(false),
			Commands: []v1alpha1.CommandStatus{regression}},
	}}
	run.Status.Egress = &v1alpha1.EgressStatus{Admitted: 40, Bytes: 2048, Hosts: []v1alpha1.HostCount{{Host: "registry.npmjs.org", Count: 40}}}
	return run
}

func TestWriteShowsTheEvidenceOfAProof(t *testing.T) {
	want := `ztrun team-a/fix: reproduced_and_fixed, in 1m23s on n1 under tcg

TREE            COMMIT        BOOT  COMMAND     RESULT     EXIT  TESTS                       TIME
Base            aaaaaaaaaaaa  2.1s  install     succeeded  0                                 1.2s
                                    suite       passed     0     12 run, 0 failed, 1 skipped  1.2s
RegressionTest  bbbbbbbbbbbb  -     regression  failed     1                                 1.2s

Network while repository code ran: none in 2 of 2 VMs
Registry requests: 40 admitted, 0 denied, 0 failed, 2 KiB (registry.npmjs.org 40)
`
	got := written(t, fixed())
	if squeeze(got) != squeeze(want) {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
}

// squeeze makes the width of columns irrelevant.
func squeeze(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

func TestWrite(t *testing.T) {
	for name, tc := range map[string]struct {
		change           func(*v1alpha1.ZTRun)
		contain, without string
	}{
		"the regression test's failure before the fix is expected, so its output is not shown": {
			func(*v1alpha1.ZTRun) {}, "reproduced_and_fixed", "printed last"},
		"failing tests that were planted are expected, so their output is not shown": {func(r *v1alpha1.ZTRun) {
			c := &r.Status.Execution.Trees[0].Commands[1]
			c.Classification, c.OutputTail, c.Report = v1alpha1.ClassFailed, "planted", &v1alpha1.ReportCounts{Suites: 1, Tests: 5, Failures: 3}
			c.Sentinel = &v1alpha1.SentinelStatus{Planted: 3, Reported: 3}
		}, "failed as planted", "printed last"},
		"a planted test that passed is not expected": {func(r *v1alpha1.ZTRun) {
			c := &r.Status.Execution.Trees[0].Commands[1]
			c.Classification, c.OutputTail, c.Report = v1alpha1.ClassFailed, "planted", &v1alpha1.ReportCounts{Suites: 1, Tests: 5, Failures: 2}
			c.Sentinel = &v1alpha1.SentinelStatus{Planted: 3, Reported: 2}
		}, "printed last", "as planted"},
		"a command that should have passed shows what it printed": {func(r *v1alpha1.ZTRun) {
			c := &r.Status.Execution.Trees[0].Commands[1]
			c.Classification, c.OutputTail = v1alpha1.ClassFailed, "1) parses\n  AssertionError"
		}, "Base suite printed last:\n  | 1) parses\n  |   AssertionError\n", ""},
		"a problem with a report is named": {func(r *v1alpha1.ZTRun) {
			r.Status.Execution.Trees[0].Commands[1].Problem = "the report is not XML"
		}, "Base suite: the report is not XML", ""},
		"a VM with a network is not counted as without": {func(r *v1alpha1.ZTRun) {
			r.Status.Execution.Trees[0].NetworkInVerification = ptr.To(true)
		}, "none in 1 of 2 VMs", ""},
		"a command ended by its time limit says so": {func(r *v1alpha1.ZTRun) {
			r.Status.Execution.Trees[0].Commands[0].TimedOut = true
		}, "timeout", ""},
		"a command ended by a signal says which": {func(r *v1alpha1.ZTRun) {
			r.Status.Execution.Trees[0].Commands[0].ExitCode, r.Status.Execution.Trees[0].Commands[0].Signal = nil, 9
		}, "signal 9", ""},
		"a refusal shows detail, subject and message": {func(r *v1alpha1.ZTRun) {
			*r = *newRun(v1alpha1.ResultUnsupportedEnvironment, v1alpha1.DetailMissingLockfile)
			r.Status.Outcome.Subject, r.Status.Outcome.Message = "package-lock.json", "commit one"
		}, "unsupported_environment (missing_lockfile), in 1m23s on n1\n  subject: package-lock.json\n  commit one\n", "TREE"},
		"a later attempt is counted": {func(r *v1alpha1.ZTRun) { r.Status.Attempt = 2 }, "attempt 2", ""},
		"clean audits are counted": {func(r *v1alpha1.ZTRun) {
			r.Status.Egress.Audit = &v1alpha1.EgressAudit{Judged: 82}
			r.Status.Execution.CacheAudit = &v1alpha1.CacheAudit{Checked: 41, Admitted: 41}
		}, "Judged again by the policy: 82 requests and tunnels, 0 violations\nCached files checked against the lockfiles: 41, rejected 0\n", "not checked"},
		"what an audit found is shown": {func(r *v1alpha1.ZTRun) {
			r.Status.Egress.Audit = &v1alpha1.EgressAudit{Judged: 82, Violations: 1, Found: []v1alpha1.EgressViolation{{Seen: "allow_npm", Expected: "path_not_allowed", Request: "https://registry.npmjs.org/-/whoami\x1b"}}}
			r.Status.Execution.CacheAudit = &v1alpha1.CacheAudit{Rejected: 1, Findings: []v1alpha1.RejectedArtifact{{Artifact: "ms/ms-2.1.3.tgz", Finding: "hash_mismatch"}}, Problem: "connection refused"}
		}, "let out as allow_npm, expected path_not_allowed\nCached files checked against the lockfiles: 0, rejected 1\n  ms/ms-2.1.3.tgz: hash_mismatch\n  not checked: connection refused\n", "\x1b"},
		"hostile text cannot drive the terminal": {func(r *v1alpha1.ZTRun) {
			r.Status.Outcome.Message = "\x1b[2Jcleared"
			r.Status.Execution.Trees[0].Commands[1].Problem = "bell\a"
			r.Status.Egress.Hosts[0].Host = "evil\x1b]0;x\a"
		}, "cleared", "\x1b"},
	} {
		t.Run(name, func(t *testing.T) {
			run := fixed()
			tc.change(run)
			got := written(t, run)
			if !strings.Contains(got, tc.contain) {
				t.Errorf("printed\n%s\nwhich lacks %q", got, tc.contain)
			}
			if tc.without != "" && strings.Contains(got, tc.without) {
				t.Errorf("printed\n%s\nwhich has %q", got, tc.without)
			}
		})
	}
}

func written(t *testing.T, run *v1alpha1.ZTRun) string {
	t.Helper()
	b := &strings.Builder{}
	if err := Write(b, run); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
