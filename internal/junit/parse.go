package junit

import (
	"errors"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// Parse returns the counts of a report. Its error is our own words and fits a
// command's problem.
func Parse(report []byte) (v1alpha1.ReportCounts, error) {
	return v1alpha1.ReportCounts{}, errors.New("no report parser yet")
}
