package verdict

import (
	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
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
func Classify(facts Facts, report *v1alpha1.ReportCounts) (class v1alpha1.Classification, problem string) {
	return v1alpha1.ClassInconclusive, "no classification yet"
}

// ClassifyResult parses the report of a broker's answer and classifies it. counts
// is nil if there is no valid report or none was asked for.
func ClassifyResult(result brokerproto.ExecResult, reports bool) (class v1alpha1.Classification, counts *v1alpha1.ReportCounts, problem string) {
	return v1alpha1.ClassInconclusive, nil, "no classification yet"
}
