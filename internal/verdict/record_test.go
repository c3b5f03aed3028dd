package verdict

import (
	"strings"

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

func broken(c *v1alpha1.TestComparison) **v1alpha1.TestNames { return &c.Failing }

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

// saying fails with a text.
func saying(text string) func(v1alpha1.CommandStatus) v1alpha1.CommandStatus {
	return func(c v1alpha1.CommandStatus) v1alpha1.CommandStatus {
		c = failing(c)
		c.OutputTail = text
		return c
	}
}
