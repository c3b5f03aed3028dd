package verdict

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

var proof = v1alpha1.Proof{
	Base:           v1alpha1.TreeRef{Commit: strings.Repeat("a", 40)},
	RegressionTest: v1alpha1.TreeRef{Commit: strings.Repeat("b", 40)},
	Candidate:      v1alpha1.TreeRef{Commit: strings.Repeat("c", 40)},
	Targets:        []v1alpha1.TargetPath{"test/bug.test.js"},
}

func ok(name string, phase v1alpha1.VMPhase, network v1alpha1.Network, argv ...string) v1alpha1.CommandStatus {
	return v1alpha1.CommandStatus{
		Name: name, Argv: argv, Phase: phase, Network: network, ExitCode: new(int32), Classification: v1alpha1.ClassSucceeded,
	}
}

func passing(name string, tests int32, argv ...string) v1alpha1.CommandStatus {
	c := ok(name, v1alpha1.VMVerification, v1alpha1.NetworkNone, argv...)
	c.Classification, c.Report = v1alpha1.ClassPassed, counts(1, tests, 0, 0)
	return c
}

func failing(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
	c.ExitCode = new(int32)
	*c.ExitCode = 1
	c.Classification = v1alpha1.ClassFailed
	if c.Report != nil {
		c.Report = counts(c.Report.Suites, c.Report.Tests, 1, c.Report.Skipped)
	}
	return c
}

func inconclusive(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
	c.Classification, c.Report, c.Problem = v1alpha1.ClassInconclusive, nil, "there is no test report"
	return c
}

func tree(name v1alpha1.TreeName, commands ...v1alpha1.CommandStatus) v1alpha1.TreeStatus {
	return v1alpha1.TreeStatus{
		Name: name, Commit: commitOf(proof, name), Tree: strings.Repeat("d", 40), Files: 3,
		State: v1alpha1.TreeDestroyed, NetworkInVerification: new(bool),
		Commands: append([]v1alpha1.CommandStatus{
			ok("install", v1alpha1.VMProvisioning, v1alpha1.NetworkPackageProxy, "npm", "ci"),
			ok("rebuild", v1alpha1.VMVerification, v1alpha1.NetworkNone, "npm", "rebuild"),
		}, commands...),
	}
}

// good is the one execution that proves the fix.
func good() *v1alpha1.ExecutionStatus {
	target := []string{"npm", "test", "--", "test/bug.test.js"}
	return &v1alpha1.ExecutionStatus{
		Attempt: 1, State: v1alpha1.ExecutionFinished,
		Source: &v1alpha1.SourceStatus{Ecosystem: v1alpha1.EcosystemNPM},
		Trees: []v1alpha1.TreeStatus{
			tree(v1alpha1.TreeBase, passing(suite, 10, "npm", "test")),
			tree(v1alpha1.TreeRegressionTest, failing(passing(regression, 2, target...))),
			tree(v1alpha1.TreeCandidate,
				compared(passing(regression, 2, target...), RegressionTestResult, 2),
				compared(passing(suite, 12, "npm", "test"), BaseSuite, 10),
				planted(compared(passing(sentinel, 5, "npm", "test", "--", "test/twin.test.js"), RegressionTestResult, 2), 3)),
		},
	}
}

func compared(c v1alpha1.CommandStatus, with string, expected int32) v1alpha1.CommandStatus {
	c.Comparison = &v1alpha1.TestComparison{With: with, Expected: expected, Passed: expected}
	return c
}

// planted makes a command one whose planted tests failed as they must.
func planted(c v1alpha1.CommandStatus, tests int32) v1alpha1.CommandStatus {
	c = failing(c)
	c.Report = counts(c.Report.Suites, c.Report.Tests, tests, 0)
	c.Sentinel = &v1alpha1.SentinelStatus{Planted: tests, Reported: tests}
	return c
}

// short lacks a pass of some tests of its comparison.
func short(names func(*v1alpha1.TestComparison) **v1alpha1.TestNames) func(v1alpha1.CommandStatus) v1alpha1.CommandStatus {
	return func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
		comparison := *c.Comparison
		comparison.Passed--
		*names(&comparison) = &v1alpha1.TestNames{Count: 1, Names: []string{"cuts"}}
		c.Comparison = &comparison
		return c
	}
}

func missing(c *v1alpha1.TestComparison) **v1alpha1.TestNames { return &c.Missing }
func skipped(c *v1alpha1.TestComparison) **v1alpha1.TestNames { return &c.Skipped }
func broken(c *v1alpha1.TestComparison) **v1alpha1.TestNames  { return &c.Failing }

// command finds a command by "Tree/name".
func command(e *v1alpha1.ExecutionStatus, subject string) *v1alpha1.CommandStatus {
	for i := range e.Trees {
		for j := range e.Trees[i].Commands {
			if string(e.Trees[i].Name)+"/"+e.Trees[i].Commands[j].Name == subject {
				return &e.Trees[i].Commands[j]
			}
		}
	}
	panic("no command " + subject)
}

// until cuts the record off after a command.
func until(e *v1alpha1.ExecutionStatus, subject string) {
	for i := range e.Trees {
		for j := range e.Trees[i].Commands {
			if string(e.Trees[i].Name)+"/"+e.Trees[i].Commands[j].Name == subject {
				e.Trees[i].Commands = e.Trees[i].Commands[:j+1]
				e.Trees = e.Trees[:i+1]
				return
			}
		}
	}
	panic("no command " + subject)
}

func change(subject string, to func(v1alpha1.CommandStatus) v1alpha1.CommandStatus) func(*v1alpha1.ExecutionStatus) {
	return func(e *v1alpha1.ExecutionStatus) { c := command(e, subject); *c = to(*c) }
}

func TestTheGoodExecutionIsReproducedAndFixed(t *testing.T) {
	outcome, final := Judge(good(), proof)
	if !final || outcome.Result != v1alpha1.ResultReproducedAndFixed || outcome.Detail != v1alpha1.DetailReproducedAndFixed {
		t.Errorf("got %+v, final %v", outcome, final)
	}
}

// saying fails with a text.
func saying(text string) func(v1alpha1.CommandStatus) v1alpha1.CommandStatus {
	return func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
		c = failing(c)
		c.OutputTail = text
		return c
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

// ways are all in which a command can end, beginning with how it should.
func ways(c v1alpha1.CommandStatus) []v1alpha1.CommandStatus {
	if c.Report == nil {
		return []v1alpha1.CommandStatus{c, failing(c)}
	}
	other := failing(c)
	if c.Classification == v1alpha1.ClassFailed {
		other = passing(c.Name, c.Report.Tests, c.Argv...)
	}
	return []v1alpha1.CommandStatus{c, other, inconclusive(c)}
}

// Of all combinations of how the eleven commands end, one is reproduced_and_fixed.
func TestOnlyOneCombinationIsReproducedAndFixed(t *testing.T) {
	total := 1
	for _, tr := range good().Trees {
		for _, c := range tr.Commands {
			total *= len(ways(c))
		}
	}
	fixed := 0
	for n := range total {
		e := good()
		rest := n
		for i := range e.Trees {
			for j := range e.Trees[i].Commands {
				c := &e.Trees[i].Commands[j]
				all := ways(*c)
				*c = all[rest%len(all)]
				rest /= len(all)
			}
		}
		if outcome, final := Judge(e, proof); outcome.Result == v1alpha1.ResultReproducedAndFixed {
			fixed++
			if n != 0 || !final {
				t.Fatalf("combination %d is reproduced_and_fixed", n)
			}
		} else if !final {
			t.Fatalf("combination %d of a finished execution is not final: %+v", n, outcome)
		}
	}
	if fixed != 1 {
		t.Errorf("%d combinations are reproduced_and_fixed, want 1", fixed)
	}
}

// Any one damage to the good record takes the verdict away.
func TestAnyDamageTakesTheVerdictAway(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	damages := []struct {
		name string
		do   func(*v1alpha1.ExecutionStatus, *v1alpha1.TreeStatus, *v1alpha1.CommandStatus)
	}{
		{"another name", func(_ *v1alpha1.ExecutionStatus, _ *v1alpha1.TreeStatus, c *v1alpha1.CommandStatus) { c.Name += "x" }},
		{"the other phase", func(_ *v1alpha1.ExecutionStatus, _ *v1alpha1.TreeStatus, c *v1alpha1.CommandStatus) {
			if c.Phase == v1alpha1.VMVerification {
				c.Phase = v1alpha1.VMProvisioning
			} else {
				c.Phase = v1alpha1.VMVerification
			}
		}},
		{"the other network", func(_ *v1alpha1.ExecutionStatus, _ *v1alpha1.TreeStatus, c *v1alpha1.CommandStatus) {
			if c.Network == v1alpha1.NetworkNone {
				c.Network = v1alpha1.NetworkPackageProxy
			} else {
				c.Network = v1alpha1.NetworkNone
			}
		}},
		{"no exit status", func(_ *v1alpha1.ExecutionStatus, _ *v1alpha1.TreeStatus, c *v1alpha1.CommandStatus) { c.ExitCode = nil }},
		{"the other exit status", func(_ *v1alpha1.ExecutionStatus, _ *v1alpha1.TreeStatus, c *v1alpha1.CommandStatus) { *c.ExitCode ^= 1 }},
		{"a signal", func(_ *v1alpha1.ExecutionStatus, _ *v1alpha1.TreeStatus, c *v1alpha1.CommandStatus) { c.Signal = 9 }},
		{"a timeout", func(_ *v1alpha1.ExecutionStatus, _ *v1alpha1.TreeStatus, c *v1alpha1.CommandStatus) {
			c.TimedOut = true
		}},
		{"another class", func(_ *v1alpha1.ExecutionStatus, _ *v1alpha1.TreeStatus, c *v1alpha1.CommandStatus) {
			c.Classification = "great"
		}},
		{"no tree id", func(_ *v1alpha1.ExecutionStatus, t *v1alpha1.TreeStatus, _ *v1alpha1.CommandStatus) { t.Tree = "" }},
		{"no commit", func(_ *v1alpha1.ExecutionStatus, t *v1alpha1.TreeStatus, _ *v1alpha1.CommandStatus) { t.Commit = "" }},
		{"another tree name", func(_ *v1alpha1.ExecutionStatus, t *v1alpha1.TreeStatus, _ *v1alpha1.CommandStatus) { t.Name = "Other" }},
		{"a network", func(_ *v1alpha1.ExecutionStatus, t *v1alpha1.TreeStatus, _ *v1alpha1.CommandStatus) {
			*t.NetworkInVerification = true
		}},
		{"an unknown network", func(_ *v1alpha1.ExecutionStatus, t *v1alpha1.TreeStatus, _ *v1alpha1.CommandStatus) {
			t.NetworkInVerification = nil
		}},
		{"no commands", func(_ *v1alpha1.ExecutionStatus, t *v1alpha1.TreeStatus, _ *v1alpha1.CommandStatus) { t.Commands = nil }},
		{"a failure", func(e *v1alpha1.ExecutionStatus, _ *v1alpha1.TreeStatus, _ *v1alpha1.CommandStatus) {
			e.Failure = &v1alpha1.Outcome{}
		}},
		{"no source", func(e *v1alpha1.ExecutionStatus, _ *v1alpha1.TreeStatus, _ *v1alpha1.CommandStatus) { e.Source = nil }},
	}
	for _, d := range damages {
		for range 30 {
			e := good()
			tr := &e.Trees[random.IntN(len(e.Trees))]
			c := &tr.Commands[random.IntN(len(tr.Commands))]
			where := fmt.Sprintf("%s in %s/%s", d.name, tr.Name, c.Name)
			d.do(e, tr, c)
			if outcome, _ := Judge(e, proof); outcome.Result == v1alpha1.ResultReproducedAndFixed {
				t.Errorf("%s is still reproduced_and_fixed", where)
			}
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
