package verdict

import (
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

func counts(suites, tests, failures, skipped int32) *v1alpha1.ReportCounts {
	return &v1alpha1.ReportCounts{Suites: suites, Tests: tests, Failures: failures, Skipped: skipped}
}

func TestClassifyTestCommands(t *testing.T) {
	cases := []struct {
		name    string
		facts   Facts
		report  *v1alpha1.ReportCounts
		want    v1alpha1.Classification
		problem string
	}{
		{"exit 0 and all tests pass", Facts{}, counts(1, 3, 0, 0), v1alpha1.ClassPassed, ""},
		{"exit 0 and some tests skipped", Facts{}, counts(1, 3, 0, 2), v1alpha1.ClassPassed, ""},
		{"exit 1 and a failing test", Facts{ExitCode: 1}, counts(1, 3, 1, 0), v1alpha1.ClassFailed, ""},
		{"exit 255 and only failing tests", Facts{ExitCode: 255}, counts(1, 2, 2, 0), v1alpha1.ClassFailed, ""},

		{"exit 0 with a failing test", Facts{}, counts(1, 3, 1, 0), v1alpha1.ClassInconclusive, "exited 0"},
		{"exit 0 with every test skipped", Facts{}, counts(1, 3, 0, 3), v1alpha1.ClassInconclusive, "no executed test"},
		{"exit 0 with a suite and no test", Facts{}, counts(1, 0, 0, 0), v1alpha1.ClassInconclusive, "no executed test"},
		{"exit 1 without a failing test", Facts{ExitCode: 1}, counts(1, 3, 0, 0), v1alpha1.ClassInconclusive, "no failing test"},
		{"exit 1 with every test skipped", Facts{ExitCode: 1}, counts(1, 3, 0, 3), v1alpha1.ClassInconclusive, "no failing test"},
		{"no suite", Facts{}, counts(0, 3, 0, 0), v1alpha1.ClassInconclusive, "no suite"},
		{"no suite and exit 1", Facts{ExitCode: 1}, counts(0, 3, 1, 0), v1alpha1.ClassInconclusive, "no suite"},
		{"negative suites", Facts{}, counts(-1, 3, 0, 0), v1alpha1.ClassInconclusive, "cannot be"},
		{"more failures than tests", Facts{ExitCode: 1}, counts(1, 1, 2, 0), v1alpha1.ClassInconclusive, "cannot be"},
		{"failures and skips that overflow", Facts{ExitCode: 1}, counts(1, 1, 1<<31-1, 1<<31-1), v1alpha1.ClassInconclusive, "cannot be"},
		{"no report", Facts{}, nil, v1alpha1.ClassInconclusive, "no test report"},
		{"a report that could not be read", Facts{ReportProblem: "it is not XML"}, nil, v1alpha1.ClassInconclusive, "it is not XML"},
		{"timed out with a good report", Facts{ExitCode: -1, TimedOut: true}, counts(1, 3, 0, 0), v1alpha1.ClassInconclusive, "time limit"},
		{"timed out although it exited 0", Facts{TimedOut: true}, counts(1, 3, 0, 0), v1alpha1.ClassInconclusive, "time limit"},
		{"a signal with a failing test", Facts{ExitCode: -1, Signal: 9}, counts(1, 3, 1, 0), v1alpha1.ClassInconclusive, "signal 9"},
		{"out of memory with a failing test", Facts{ExitCode: 1, OOMKilled: true}, counts(1, 3, 1, 0), v1alpha1.ClassInconclusive, "memory"},
		{"no exit status", Facts{ExitCode: -1}, counts(1, 3, 0, 0), v1alpha1.ClassInconclusive, "no exit status"},
		{"an exit status that cannot be", Facts{ExitCode: 256}, counts(1, 3, 1, 0), v1alpha1.ClassInconclusive, "no exit status"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.facts.Reports = true
			got, problem := Classify(c.facts, c.report)
			if got != c.want || !strings.Contains(problem, c.problem) || (problem == "") != (c.problem == "") {
				t.Errorf("got %s, %q; want %s, %q", got, problem, c.want, c.problem)
			}
		})
	}
}

func TestClassifyOtherCommands(t *testing.T) {
	cases := []struct {
		name    string
		facts   Facts
		want    v1alpha1.Classification
		problem bool
	}{
		{"exit 0", Facts{}, v1alpha1.ClassSucceeded, false},
		{"exit 1", Facts{ExitCode: 1}, v1alpha1.ClassFailed, false},
		{"a signal", Facts{ExitCode: -1, Signal: 15}, v1alpha1.ClassFailed, true},
		{"the time limit", Facts{ExitCode: -1, TimedOut: true}, v1alpha1.ClassFailed, true},
		{"out of memory although it exited 0", Facts{OOMKilled: true}, v1alpha1.ClassFailed, true},
		{"no exit status", Facts{ExitCode: -1}, v1alpha1.ClassFailed, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, problem := Classify(c.facts, counts(1, 1, 0, 0))
			if got != c.want || (problem != "") != c.problem {
				t.Errorf("got %s, %q", got, problem)
			}
		})
	}
}

// Over the whole space of small facts: passed and failed only where exit status and
// report say so together.
func TestClassifyNeverGuesses(t *testing.T) {
	for _, exit := range []int{-1, 0, 1, 255, 256} {
		for _, signal := range []int{0, 9} {
			for bits := range 4 {
				for _, report := range reports() {
					facts := Facts{ExitCode: exit, Signal: signal, TimedOut: bits&1 != 0, OOMKilled: bits&2 != 0, Reports: true}
					class, problem := Classify(facts, report)
					undisturbed := signal == 0 && bits == 0 && report != nil && report.Suites > 0
					mayPass := undisturbed && exit == 0 && report.Failures == 0 && report.Tests > report.Skipped
					if class == v1alpha1.ClassPassed && !mayPass {
						t.Errorf("%+v with %+v passed", facts, report)
					}
					mayFail := undisturbed && exit > 0 && exit < 256 && report.Failures > 0
					if class == v1alpha1.ClassFailed && !mayFail {
						t.Errorf("%+v with %+v failed", facts, report)
					}
					if (class == v1alpha1.ClassInconclusive) != (problem != "") {
						t.Errorf("%+v with %+v: %s, %q", facts, report, class, problem)
					}
				}
			}
		}
	}
}

func reports() []*v1alpha1.ReportCounts {
	all := []*v1alpha1.ReportCounts{nil}
	for suites := int32(-1); suites < 2; suites++ {
		for tests := int32(0); tests < 3; tests++ {
			for failures := int32(-1); failures < 3; failures++ {
				for skipped := int32(-1); skipped < 3; skipped++ {
					all = append(all, counts(suites, tests, failures, skipped))
				}
			}
		}
	}
	return all
}

func TestClassifyResultReadsTheReport(t *testing.T) {
	report := func(data, problem string) *brokerproto.Report {
		return &brokerproto.Report{Data: []byte(data), Error: problem}
	}
	cases := []struct {
		name    string
		result  brokerproto.ExecResult
		reports bool
		want    v1alpha1.Classification
		counted bool
		problem string
	}{
		{"a good report", brokerproto.ExecResult{Report: report(`<testsuites><testcase/></testsuites>`, "")}, true, v1alpha1.ClassPassed, true, ""},
		{"a contradictory report keeps its counts", brokerproto.ExecResult{ExitCode: 1, Report: report(`<testsuites><testcase/></testsuites>`, "")}, true, v1alpha1.ClassInconclusive, true, "no failing test"},
		{"a report that is no XML", brokerproto.ExecResult{Report: report(`ok 1`, "")}, true, v1alpha1.ClassInconclusive, false, "outside its root"},
		{"no report at all", brokerproto.ExecResult{}, true, v1alpha1.ClassInconclusive, false, "sent no report"},
		{"an absent file", brokerproto.ExecResult{Report: report("", brokerproto.ReportAbsent)}, true, v1alpha1.ClassInconclusive, false, "wrote no test report"},
		{"a link as the file", brokerproto.ExecResult{Report: report("", brokerproto.ReportNotRegular)}, true, v1alpha1.ClassInconclusive, false, "not a regular file"},
		{"too large a file", brokerproto.ExecResult{Report: report("", brokerproto.ReportTooLarge)}, true, v1alpha1.ClassInconclusive, false, "bytes"},
		{"an error the host does not know", brokerproto.ExecResult{Report: report("", "made_up")}, true, v1alpha1.ClassInconclusive, false, "could not be read"},
		{"a command that need not report", brokerproto.ExecResult{}, false, v1alpha1.ClassSucceeded, false, ""},
		{"a report that nobody asked for", brokerproto.ExecResult{ExitCode: 3, Report: report(`<testsuites><testcase/></testsuites>`, "")}, false, v1alpha1.ClassFailed, false, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := ClassifyResult(c.result, c.reports)
			if r.Class != c.want || (r.Counts() != nil) != c.counted || !strings.Contains(r.Problem, c.problem) {
				t.Errorf("got %s, %+v, %q", r.Class, r.Counts(), r.Problem)
			}
		})
	}
}
