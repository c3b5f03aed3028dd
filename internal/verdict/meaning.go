package verdict

import (
	"fmt"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// reclassify derives a command's class from its recorded facts. The recorded class
// is taken only where it claims less than the facts, since the node also knows what
// the record has no field for.
func reclassify(s step, c *v1alpha1.CommandStatus) (class v1alpha1.Classification, problem string) {
	facts := Facts{ExitCode: -1, Signal: int(c.Signal), TimedOut: c.TimedOut, Reports: s.test, ReportProblem: c.Problem}
	if c.ExitCode != nil {
		facts.ExitCode = int(*c.ExitCode)
	}
	class, _ = Classify(facts, c.Report)
	switch {
	case c.Classification == class:
		return class, ""
	case s.test && c.Classification == v1alpha1.ClassInconclusive, !s.test && c.Classification == v1alpha1.ClassFailed:
		return c.Classification, ""
	}
	return "", "the recorded classification contradicts the exit status and the report"
}

// meaning is the outcome that a command's class decides, or nil if reading goes on.
func meaning(tree v1alpha1.TreeName, s step, c *v1alpha1.CommandStatus, class v1alpha1.Classification, subject string) *v1alpha1.Outcome {
	if !s.test {
		return setupMeaning(s, c, class, subject)
	}
	if s.name == sentinel {
		return sentinelMeaning(c, class, subject)
	}
	if class == v1alpha1.ClassInconclusive {
		return &v1alpha1.Outcome{
			Result: v1alpha1.ResultInconclusive, Detail: v1alpha1.DetailCommandInconclusive, Subject: subject,
			Message: fmt.Sprintf("%s of tree %s gave no test result: %s", s.name, tree, orUnknown(c.Problem)),
		}
	}
	return testMeaning(tree, s.name, class == v1alpha1.ClassPassed, subject)
}

// sentinelMeaning wants a failure: failing tests were planted.
func sentinelMeaning(c *v1alpha1.CommandStatus, class v1alpha1.Classification, subject string) *v1alpha1.Outcome {
	if class == v1alpha1.ClassFailed {
		return nil
	}
	message := "failing tests were planted, and all tests passed"
	if class == v1alpha1.ClassInconclusive {
		message = "failing tests were planted, and the command gave no test result: " + orUnknown(c.Problem)
	}
	o := notReported(subject, message)
	return &o
}

func setupMeaning(s step, c *v1alpha1.CommandStatus, class v1alpha1.Classification, subject string) *v1alpha1.Outcome {
	if class == v1alpha1.ClassSucceeded {
		return nil
	}
	o := &v1alpha1.Outcome{Subject: subject, Message: fmt.Sprintf("%s %s", s.name, ending(c))}
	switch {
	case s.phase == v1alpha1.VMVerification:
		o.Result, o.Detail = v1alpha1.ResultExecutionFailed, v1alpha1.DetailRebuildFailed
	case c.TimedOut:
		o.Result, o.Detail = v1alpha1.ResultProvisioningFailed, v1alpha1.DetailInstallTimedOut
	case refusedBytes(c):
		o.Result, o.Detail = v1alpha1.ResultProvisioningFailed, v1alpha1.DetailArtifactHashMismatch
	default:
		o.Result, o.Detail = v1alpha1.ResultProvisioningFailed, v1alpha1.DetailInstallFailed
	}
	return o
}

// hashErrors are how npm, pip and uv say that a file has another digest than the
// lockfile names.
var hashErrors = []string{"code EINTEGRITY", "DO NOT MATCH THE HASHES", "Hash mismatch for"}

// refusedBytes reads the package manager's own error. It is a guest's text, so it only
// chooses between names of one and the same failure.
func refusedBytes(c *v1alpha1.CommandStatus) bool {
	for _, text := range hashErrors {
		if strings.Contains(c.OutputTail, text) {
			return true
		}
	}
	return false
}

func testMeaning(tree v1alpha1.TreeName, command string, passed bool, subject string) *v1alpha1.Outcome {
	switch {
	case tree == v1alpha1.TreeBase && !passed:
		return &v1alpha1.Outcome{Result: v1alpha1.ResultInconclusive, Detail: v1alpha1.DetailBaseSuiteFailed, Subject: subject,
			Message: "the base's own suite fails, so a failure on the candidate would say nothing"}
	case tree == v1alpha1.TreeRegressionTest && passed:
		return &v1alpha1.Outcome{Result: v1alpha1.ResultNotReproduced, Detail: v1alpha1.DetailRegressionPassed, Subject: subject,
			Message: "the regression test passes without the fix: it does not show the bug"}
	case tree == v1alpha1.TreeCandidate && command == regression && !passed:
		return &v1alpha1.Outcome{Result: v1alpha1.ResultNotFixed, Detail: v1alpha1.DetailRegressionStillFail, Subject: subject,
			Message: "the regression test still fails on the candidate"}
	case tree == v1alpha1.TreeCandidate && command == suite && !passed:
		return &v1alpha1.Outcome{Result: v1alpha1.ResultRegressed, Detail: v1alpha1.DetailSuiteBroken, Subject: subject,
			Message: "the candidate passes the regression test and breaks the suite"}
	}
	return nil
}

func ending(c *v1alpha1.CommandStatus) string {
	switch {
	case c.TimedOut:
		return "ran into its time limit"
	case c.Problem != "":
		return "failed: " + c.Problem
	case c.ExitCode != nil:
		return fmt.Sprintf("exited %d", *c.ExitCode)
	}
	return fmt.Sprintf("was ended by signal %d", c.Signal)
}

func orUnknown(problem string) string {
	if problem == "" {
		return "the record does not say why"
	}
	return problem
}

func incomplete(subject, message string) v1alpha1.Outcome {
	return v1alpha1.Outcome{
		Result: v1alpha1.ResultInconclusive, Detail: v1alpha1.DetailEvidenceIncomplete, Subject: subject, Message: message,
	}
}

func networkPresent(subject string) v1alpha1.Outcome {
	return v1alpha1.Outcome{
		Result: v1alpha1.ResultExecutionFailed, Detail: v1alpha1.DetailNetworkPresent, Subject: subject,
		Message: "repository code ran while the VM had a network, so nothing it shows counts",
	}
}
