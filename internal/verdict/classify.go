package verdict

import (
	"fmt"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/junit"
)

// Facts are what the node observed of one finished command.
type Facts struct {
	// ExitCode is 0–255, or -1 if a signal or the time limit ended the command.
	ExitCode int
	// Signal that ended the command, else 0.
	Signal int
	// TimedOut is true if the time limit ended it.
	TimedOut bool
	// OOMKilled is true if the container's memory limit killed one of its processes.
	OOMKilled bool
	// Reports is true for a test command, which must leave a report.
	Reports bool
	// ReportProblem says why a test command has no counts.
	ReportProblem string
}

// Classify says what the facts and the report's counts (nil if there are none) mean
// together. problem is empty, or says why the command is not what its exit status
// claims.
//
// A command without a report has succeeded or failed. A test command has passed or
// failed only if exit status and report agree; everything else is inconclusive,
// since a runner that crashed, was cut off or was told to lie is no test result.
func Classify(facts Facts, report *v1alpha1.ReportCounts) (class v1alpha1.Classification, problem string) {
	problem = cutOff(facts)
	if !facts.Reports {
		if problem != "" || facts.ExitCode != 0 {
			return v1alpha1.ClassFailed, problem
		}
		return v1alpha1.ClassSucceeded, ""
	}
	if problem == "" {
		problem = unusable(facts, report)
	}
	if problem == "" {
		problem = contradiction(facts.ExitCode, *report)
	}
	switch {
	case problem != "":
		return v1alpha1.ClassInconclusive, problem
	case facts.ExitCode == 0:
		return v1alpha1.ClassPassed, ""
	}
	return v1alpha1.ClassFailed, ""
}

// cutOff says what ended the command other than itself.
func cutOff(facts Facts) string {
	switch {
	case facts.TimedOut:
		return "its time limit ended it"
	case facts.OOMKilled:
		return "the container's memory limit killed one of its processes"
	case facts.Signal != 0:
		return fmt.Sprintf("signal %d ended it", facts.Signal)
	case facts.ExitCode < 0 || facts.ExitCode > 255:
		return "it has no exit status"
	}
	return ""
}

func unusable(facts Facts, report *v1alpha1.ReportCounts) string {
	switch {
	case report == nil && facts.ReportProblem != "":
		return facts.ReportProblem
	case report == nil:
		return "there is no test report"
	case report.Suites < 0 || report.Tests < 0 || report.Failures < 0 || report.Skipped < 0,
		int64(report.Failures)+int64(report.Skipped) > int64(report.Tests):
		return "the counts of its report cannot be"
	case report.Suites == 0:
		return "its report has no suite"
	}
	return ""
}

func contradiction(exit int, report v1alpha1.ReportCounts) string {
	switch {
	case exit == 0 && report.Failures > 0:
		return fmt.Sprintf("it exited 0, but its report has %d failing tests", report.Failures)
	case exit == 0 && executed(report) == 0:
		return "it exited 0, but its report has no executed test"
	case exit != 0 && report.Failures == 0:
		return fmt.Sprintf("it exited %d, but its report has no failing test", exit)
	}
	return ""
}

// executed counts the tests that ran to a result.
func executed(report v1alpha1.ReportCounts) int32 {
	return report.Tests - report.Skipped
}

// Reading is what a finished command says.
type Reading struct {
	Class v1alpha1.Classification
	// Report is nil if there is no valid report or none was asked for.
	Report *junit.Report
	// Problem is Classify's.
	Problem string
}

// Counts of the report, or nil.
func (r Reading) Counts() *v1alpha1.ReportCounts {
	if r.Report == nil {
		return nil
	}
	counts := r.Report.Counts
	return &counts
}

// ClassifyResult parses the report of a broker's answer and classifies it.
func ClassifyResult(result brokerproto.ExecResult, reports bool) Reading {
	facts := Facts{
		ExitCode: result.ExitCode, Signal: result.Signal, TimedOut: result.TimedOut, OOMKilled: result.OOMKilled,
		Reports: reports,
	}
	var r Reading
	if reports {
		r.Report, facts.ReportProblem = readReport(result.Report)
	}
	r.Class, r.Problem = Classify(facts, r.Counts())
	return r
}

func readReport(report *brokerproto.Report) (*junit.Report, string) {
	if report == nil {
		return nil, "the guest sent no report"
	}
	switch report.Error {
	case "":
	case brokerproto.ReportAbsent:
		return nil, "it wrote no test report: its runner does not follow the reporter it was given"
	case brokerproto.ReportNotRegular:
		return nil, "its test report is not a regular file"
	case brokerproto.ReportTooLarge:
		return nil, fmt.Sprintf("its test report has more than %d bytes", junit.MaxBytes)
	default:
		return nil, "its test report could not be read"
	}
	read, err := junit.Read(report.Data)
	if err != nil {
		return nil, err.Error()
	}
	return &read, ""
}
