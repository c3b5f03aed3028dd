package verdict

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

func TestTheGoodExecutionIsReproducedAndFixed(t *testing.T) {
	outcome, final := Judge(good(), proof)
	if !final || outcome.Result != v1alpha1.ResultReproducedAndFixed || outcome.Detail != v1alpha1.DetailReproducedAndFixed {
		t.Errorf("got %+v, final %v", outcome, final)
	}
}

func TestJudge(t *testing.T) {
	timedOut := func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
		c.ExitCode, c.TimedOut, c.Classification, c.Problem = nil, true, v1alpha1.ClassFailed, "its time limit ended it"
		return c
	}
	onNetwork := func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
		c.Network = v1alpha1.NetworkPackageProxy
		return c
	}
	cases := []struct {
		name    string
		change  func(*v1alpha1.ExecutionStatus)
		result  v1alpha1.Result
		detail  v1alpha1.Detail
		subject string
	}{
		{"the base's suite fails", change("Base/suite", failing), v1alpha1.ResultInconclusive, v1alpha1.DetailBaseSuiteFailed, "Base/suite"},
		{"the regression test passes without the fix", change("RegressionTest/regression", func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
			return passing(regression, 2, c.Argv...)
		}), v1alpha1.ResultNotReproduced, v1alpha1.DetailRegressionPassed, "RegressionTest/regression"},
		{"the regression test fails on the candidate", change("Candidate/regression", failing), v1alpha1.ResultNotFixed, v1alpha1.DetailRegressionStillFail, "Candidate/regression"},
		{"the candidate breaks the suite", change("Candidate/suite", failing), v1alpha1.ResultRegressed, v1alpha1.DetailSuiteBroken, "Candidate/suite"},
		{"neither fixed nor a whole suite", func(e *v1alpha1.ExecutionStatus) {
			change("Candidate/regression", failing)(e)
			change("Candidate/suite", failing)(e)
		}, v1alpha1.ResultNotFixed, v1alpha1.DetailRegressionStillFail, "Candidate/regression"},

		{"the base's suite is inconclusive", change("Base/suite", inconclusive), v1alpha1.ResultInconclusive, v1alpha1.DetailCommandInconclusive, "Base/suite"},
		{"the regression test is inconclusive without the fix", change("RegressionTest/regression", inconclusive), v1alpha1.ResultInconclusive, v1alpha1.DetailCommandInconclusive, "RegressionTest/regression"},
		{"the regression test is inconclusive on the candidate", change("Candidate/regression", inconclusive), v1alpha1.ResultInconclusive, v1alpha1.DetailCommandInconclusive, "Candidate/regression"},
		{"the suite is inconclusive on the candidate", change("Candidate/suite", inconclusive), v1alpha1.ResultInconclusive, v1alpha1.DetailCommandInconclusive, "Candidate/suite"},
		{"the node knows why a test that looks passed is not", change("Candidate/suite", func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
			c.Classification, c.Problem = v1alpha1.ClassInconclusive, "the container's memory limit killed one of its processes"
			return c
		}), v1alpha1.ResultInconclusive, v1alpha1.DetailCommandInconclusive, "Candidate/suite"},

		{"an installation fails", change("Base/install", failing), v1alpha1.ResultProvisioningFailed, v1alpha1.DetailInstallFailed, "Base/install"},
		{"npm refuses a file by its digest", change("Base/install", saying("npm error code EINTEGRITY\nnpm error sha512-AA integrity checksum failed")), v1alpha1.ResultProvisioningFailed, v1alpha1.DetailArtifactHashMismatch, "Base/install"},
		{"pip refuses a file by its digest", change("Candidate/install", saying("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.")), v1alpha1.ResultProvisioningFailed, v1alpha1.DetailArtifactHashMismatch, "Candidate/install"},
		{"uv refuses a file by its digest", change("Base/install", saying("Hash mismatch for `iniconfig==2.1.0`")), v1alpha1.ResultProvisioningFailed, v1alpha1.DetailArtifactHashMismatch, "Base/install"},
		{"a rebuild that talks of digests", change("Base/rebuild", saying("npm error code EINTEGRITY")), v1alpha1.ResultExecutionFailed, v1alpha1.DetailRebuildFailed, "Base/rebuild"},
		{"an installation runs out of time", change("Candidate/install", timedOut), v1alpha1.ResultProvisioningFailed, v1alpha1.DetailInstallTimedOut, "Candidate/install"},
		{"a rebuild fails", change("Base/rebuild", failing), v1alpha1.ResultExecutionFailed, v1alpha1.DetailRebuildFailed, "Base/rebuild"},
		{"a rebuild runs out of time", change("RegressionTest/rebuild", timedOut), v1alpha1.ResultExecutionFailed, v1alpha1.DetailRebuildFailed, "RegressionTest/rebuild"},

		{"a VM had a network", func(e *v1alpha1.ExecutionStatus) { *e.Trees[2].NetworkInVerification = true }, v1alpha1.ResultExecutionFailed, v1alpha1.DetailNetworkPresent, "Candidate"},
		{"a VM had a network where the base's suite fails", func(e *v1alpha1.ExecutionStatus) {
			*e.Trees[0].NetworkInVerification = true
			change("Base/suite", failing)(e)
		}, v1alpha1.ResultExecutionFailed, v1alpha1.DetailNetworkPresent, "Base"},
		{"nobody recorded whether a VM had a network", func(e *v1alpha1.ExecutionStatus) { e.Trees[1].NetworkInVerification = nil }, v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "RegressionTest"},
		{"a test command had the package proxy", change("Candidate/suite", onNetwork), v1alpha1.ResultExecutionFailed, v1alpha1.DetailNetworkPresent, "Candidate/suite"},
		{"a rebuild had the package proxy", change("Base/rebuild", onNetwork), v1alpha1.ResultExecutionFailed, v1alpha1.DetailNetworkPresent, "Base/rebuild"},

		{"no source", func(e *v1alpha1.ExecutionStatus) { e.Source = nil }, v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "source"},
		{"an ecosystem without rules", func(e *v1alpha1.ExecutionStatus) { e.Source.Ecosystem = "cargo" }, v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "ecosystem"},
		{"no trees", func(e *v1alpha1.ExecutionStatus) { e.Trees = nil }, v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Base"},
		{"no candidate", func(e *v1alpha1.ExecutionStatus) { e.Trees = e.Trees[:2] }, v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Candidate"},
		{"the trees in another order", func(e *v1alpha1.ExecutionStatus) { e.Trees[0], e.Trees[1] = e.Trees[1], e.Trees[0] }, v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Base"},
		{"a fourth tree", func(e *v1alpha1.ExecutionStatus) { e.Trees = append(e.Trees, e.Trees[2]) }, v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "trees"},
		{"another commit", func(e *v1alpha1.ExecutionStatus) { e.Trees[2].Commit = strings.Repeat("e", 40) }, v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Candidate"},
		{"no tree id", func(e *v1alpha1.ExecutionStatus) { e.Trees[0].Tree = "" }, v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Base"},
		{"the candidate's suite did not run", func(e *v1alpha1.ExecutionStatus) { until(e, "Candidate/regression") }, v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Candidate/suite"},
		{"no rebuild", func(e *v1alpha1.ExecutionStatus) {
			e.Trees[0].Commands = append(e.Trees[0].Commands[:1:1], e.Trees[0].Commands[2:]...)
		}, v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Base/rebuild"},
		{"a command that no plan has", func(e *v1alpha1.ExecutionStatus) {
			e.Trees[0].Commands = append(e.Trees[0].Commands, passing("extra", 1))
		}, v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Base"},
		{"an installation in verification", change("Base/install", func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
			c.Phase = v1alpha1.VMVerification
			return c
		}), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Base/install"},
		{"an installation without the package proxy", change("Base/install", func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
			c.Network = v1alpha1.NetworkNone
			return c
		}), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Base/install"},
		{"a regression command of other targets", change("Candidate/regression", func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
			c.Argv = []string{"npm", "test", "--", "test/other.test.js"}
			return c
		}), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Candidate/regression"},
		{"a classification that its facts deny", change("Candidate/suite", func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
			c = failing(c)
			c.Classification = v1alpha1.ClassPassed
			return c
		}), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Candidate/suite"},
		{"a pass without a report", change("Candidate/suite", func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
			c.Report = nil
			return c
		}), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Candidate/suite"},
		{"a success without an exit status", change("Base/install", func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
			c.ExitCode = nil
			return c
		}), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Base/install"},

		{"fewer regression tests run on the candidate than before", change("Candidate/regression", func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
			c.Report = counts(1, 2, 0, 1)
			return compared(c, RegressionTestResult, 1)
		}), v1alpha1.ResultInconclusive, v1alpha1.DetailFewerTests, "Candidate/regression"},
		{"the candidate removes tests of the base", change("Candidate/suite", func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
			c.Report = counts(1, 9, 0, 0)
			return c
		}), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Candidate/suite"},

		{"a regression test is missing on the candidate", change("Candidate/regression", short(missing)), v1alpha1.ResultInconclusive, v1alpha1.DetailTestMissing, "Candidate/regression"},
		{"a regression test is skipped on the candidate", change("Candidate/regression", short(skipped)), v1alpha1.ResultInconclusive, v1alpha1.DetailRegressionSkipped, "Candidate/regression"},
		{"a test of the base is missing on the candidate", change("Candidate/suite", short(missing)), v1alpha1.ResultInconclusive, v1alpha1.DetailTestMissing, "Candidate/suite"},
		{"a test of the base is skipped on the candidate", change("Candidate/suite", short(skipped)), v1alpha1.ResultInconclusive, v1alpha1.DetailTestSkipped, "Candidate/suite"},
		{"a suite that passes with a failing test", change("Candidate/suite", short(broken)), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Candidate/suite"},
		{"tests that nobody compared", change("Candidate/suite", func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
			c.Comparison = nil
			return c
		}), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Candidate/suite"},
		{"a comparison with another result", change("Candidate/suite", func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
			return compared(c, RegressionTestResult, 10)
		}), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Candidate/suite"},
		{"a comparison that leaves tests of the base out", change("Candidate/suite", func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
			return compared(c, BaseSuite, 9)
		}), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Candidate/suite"},
		{"a comparison of more tests than ran", change("Candidate/regression", func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
			return compared(c, RegressionTestResult, 3)
		}), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Candidate/regression"},
		{"tests without a pass that nobody names", change("Candidate/regression", func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
			c = compared(c, RegressionTestResult, 2)
			c.Comparison.Passed = 1
			return c
		}), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Candidate/regression"},
		{"the planted tests pass", change("Candidate/sentinel", func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
			return passing(sentinel, 5, c.Argv...)
		}), v1alpha1.ResultInconclusive, v1alpha1.DetailSentinelNotReported, "Candidate/sentinel"},
		{"one planted test passes", change("Candidate/sentinel", func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
			c.Report, c.Sentinel = counts(1, 5, 2, 0), &v1alpha1.SentinelStatus{Planted: 3, Reported: 2}
			return c
		}), v1alpha1.ResultInconclusive, v1alpha1.DetailSentinelNotReported, "Candidate/sentinel"},
		{"the sentinel gave no result", change("Candidate/sentinel", inconclusive), v1alpha1.ResultInconclusive, v1alpha1.DetailSentinelNotReported, "Candidate/sentinel"},
		{"nothing was planted", change("Candidate/sentinel", func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
			c.Sentinel = &v1alpha1.SentinelStatus{}
			return c
		}), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Candidate/sentinel"},
		{"nobody knows what was planted", change("Candidate/sentinel", func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
			c.Sentinel = nil
			return c
		}), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Candidate/sentinel"},
		{"more planted tests reported than failed", change("Candidate/sentinel", func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
			c.Report = counts(1, 5, 1, 0)
			return c
		}), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Candidate/sentinel"},
		{"more other failures than there are", change("Candidate/sentinel", func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
			c.Sentinel = &v1alpha1.SentinelStatus{Planted: 3, Reported: 3, Others: 1}
			return c
		}), v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Candidate/sentinel"},
		{"a copy of the regression test fails", change("Candidate/sentinel", func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
			c = short(broken)(c)
			c.Report, c.Sentinel = counts(1, 5, 4, 0), &v1alpha1.SentinelStatus{Planted: 3, Reported: 3, Others: 1}
			return c
		}), v1alpha1.ResultInconclusive, v1alpha1.DetailCopyNotPassed, "Candidate/sentinel"},
		{"a copy of the regression test is missing", change("Candidate/sentinel", short(missing)), v1alpha1.ResultInconclusive, v1alpha1.DetailCopyNotPassed, "Candidate/sentinel"},
		{"more than what was planted fails", change("Candidate/sentinel", func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
			c.Report, c.Sentinel = counts(1, 6, 4, 0), &v1alpha1.SentinelStatus{Planted: 3, Reported: 3, Others: 1}
			return c
		}), v1alpha1.ResultInconclusive, v1alpha1.DetailCopyNotPassed, "Candidate/sentinel"},
		{"no sentinel", func(e *v1alpha1.ExecutionStatus) { until(e, "Candidate/suite") }, v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "Candidate/sentinel"},

		{"the node's own failure", func(e *v1alpha1.ExecutionStatus) {
			e.Failure = &v1alpha1.Outcome{Result: v1alpha1.ResultExecutionFailed, Detail: v1alpha1.DetailVMLost, Subject: "Base", Message: "QEMU ended"}
		}, v1alpha1.ResultExecutionFailed, v1alpha1.DetailVMLost, "Base"},
		{"a verdict as the node's failure", func(e *v1alpha1.ExecutionStatus) {
			e.Failure = &v1alpha1.Outcome{Result: v1alpha1.ResultReproducedAndFixed, Detail: v1alpha1.DetailReproducedAndFixed}
		}, v1alpha1.ResultInconclusive, v1alpha1.DetailEvidenceIncomplete, "failure"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := good()
			c.change(e)
			outcome, final := Judge(e, proof)
			if !final || outcome.Result != c.result || outcome.Detail != c.detail || outcome.Subject != c.subject {
				t.Errorf("got %+v, final %v; want %s/%s (%s)", outcome, final, c.result, c.detail, c.subject)
			}
			if entry, ok := v1alpha1.Explain(outcome.Detail); !ok || entry.Result != outcome.Result {
				t.Errorf("the catalogue has %s as %s, the outcome as %s", outcome.Detail, entry.Result, outcome.Result)
			}
			if outcome.Message == "" {
				t.Error("the outcome has no message")
			}
		})
	}
}

// While the execution runs, what is not there yet decides nothing, and what is
// decides at once.
func TestJudgeWhileRunning(t *testing.T) {
	if outcome, final := Judge(nil, proof); final || outcome.Detail != v1alpha1.DetailEvidenceIncomplete {
		t.Errorf("nothing: got %+v, final %v", outcome, final)
	}
	all := []string{
		"Base/install", "Base/rebuild", "Base/suite",
		"RegressionTest/install", "RegressionTest/rebuild", "RegressionTest/regression",
		"Candidate/install", "Candidate/rebuild", "Candidate/regression", "Candidate/suite", "Candidate/sentinel",
	}
	for i, subject := range all {
		e := good()
		e.State = v1alpha1.ExecutionRunning
		until(e, subject)
		outcome, final := Judge(e, proof)
		if last := i == len(all)-1; final != last || (outcome.Result == v1alpha1.ResultReproducedAndFixed) != last {
			t.Errorf("after %s: got %+v, final %v", subject, outcome, final)
		}
	}
	for _, stop := range []string{"Base/suite", "Candidate/regression", "Candidate/suite"} {
		e := good()
		e.State = v1alpha1.ExecutionRunning
		change(stop, failing)(e)
		until(e, stop)
		if outcome, final := Judge(e, proof); !final {
			t.Errorf("after a failing %s: got %+v, not final", stop, outcome)
		}
	}
}

// A runner that is given the twins twice, by its own pattern and by path, may report
// them twice.
func TestPlantedTestsMayBeReportedTwice(t *testing.T) {
	e := good()
	command(e, "Candidate/sentinel").Report = counts(1, 10, 6, 0)
	if outcome, _ := Judge(e, proof); outcome.Result != v1alpha1.ResultReproducedAndFixed {
		t.Errorf("got %+v", outcome)
	}
}

func TestJudgeDoesNotChangeTheRecord(t *testing.T) {
	e := good()
	before := e.DeepCopy()
	Judge(e, proof)
	if fmt.Sprintf("%+v", *e.Trees[2].Commands[3].Report) != fmt.Sprintf("%+v", *before.Trees[2].Commands[3].Report) {
		t.Error("the record was changed")
	}
}
