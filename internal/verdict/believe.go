package verdict

import (
	"fmt"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// compared reads the comparison of a candidate's test command, test by test. It is
// the node's work on reports that are not in the record; here it must agree with the
// counts that are.
func (j *judgement) compared(s step, c *v1alpha1.CommandStatus, subject string) bool {
	comparison, with := c.Comparison, trusted[s.name]
	if comparison == nil {
		return j.decide(incomplete(subject, "its tests were not compared with those of the trusted tree"))
	}
	if o := shortfall(s.name, comparison, subject); o != nil {
		return j.decide(*o)
	}
	before := executed(j.counts[with])
	switch {
	case comparison.With != with,
		comparison.Expected < 0, comparison.Passed != comparison.Expected,
		s.name == suite && comparison.Expected != before, comparison.Expected > before,
		comparison.Passed > executed(*c.Report)-c.Report.Failures:
		return j.decide(incomplete(subject, "the comparison of its tests contradicts the counts of the reports"))
	}
	return true
}

// shortfall is the outcome that tests without a pass decide, or nil.
func shortfall(command string, c *v1alpha1.TestComparison, subject string) *v1alpha1.Outcome {
	o := &v1alpha1.Outcome{Result: v1alpha1.ResultInconclusive, Subject: subject}
	list, how := c.Missing, "not in the candidate's report"
	o.Detail = v1alpha1.DetailTestMissing
	if list == nil && c.Skipped != nil {
		list, how = c.Skipped, "skipped, to do or an expected failure on the candidate"
		o.Detail = v1alpha1.DetailTestSkipped
		if command == regression {
			o.Detail = v1alpha1.DetailRegressionSkipped
		}
	}
	if list == nil && c.Failing != nil {
		// Only a sentinel gets here: other commands with a failing test have decided.
		list, how = c.Failing, "failing"
		o.Detail = v1alpha1.DetailEvidenceIncomplete
	}
	if list == nil {
		return nil
	}
	if command == sentinel {
		o.Detail = v1alpha1.DetailCopyNotPassed
		how += ", run as a copy under another name"
	}
	o.Message = fmt.Sprintf("of %d tests that must pass, %d are %s%s", c.Expected, list.Count, how, examples(list))
	return o
}

// examples quotes the first test, which the node has escaped.
func examples(list *v1alpha1.TestNames) string {
	if len(list.Names) == 0 {
		return ""
	}
	return fmt.Sprintf("; the first is %q", list.Names[0])
}

// planted reads the facts of the failing tests that were planted beside copies of
// the regression tests. Each must be reported as failed, and nothing else may fail.
func (j *judgement) planted(c *v1alpha1.CommandStatus, subject string) bool {
	s := c.Sentinel
	switch {
	case s == nil || s.Planted <= 0:
		return j.decide(incomplete(subject, "it is not recorded what was planted"))
	case s.Reported > s.Planted, s.Reported < 0, s.Others < 0, s.Reported+s.Others > c.Report.Failures:
		return j.decide(incomplete(subject, "the planted tests contradict the counts of the report"))
	case s.Reported < s.Planted:
		return j.decide(notReported(subject, fmt.Sprintf("of %d failing tests that were planted, %d were reported as failed", s.Planted, s.Reported)))
	case s.Others > 0 && (c.Comparison == nil || c.Comparison.Failing == nil):
		return j.decide(v1alpha1.Outcome{
			Result: v1alpha1.ResultInconclusive, Detail: v1alpha1.DetailCopyNotPassed, Subject: subject,
			Message: fmt.Sprintf("%d tests failed beside the %d planted ones", s.Others, s.Planted),
		})
	}
	return true
}

func notReported(subject, message string) v1alpha1.Outcome {
	return v1alpha1.Outcome{
		Result: v1alpha1.ResultInconclusive, Detail: v1alpha1.DetailSentinelNotReported, Subject: subject,
		Message: message + "; what the candidate's VM reports cannot be believed",
	}
}
