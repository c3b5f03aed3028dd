//go:build cluster

package cluster

import "testing"

// TestPythonProofs takes the fixtures of pip and uv the whole way: their own mirror,
// worker and plan.
func TestPythonProofs(t *testing.T) {
	for ecosystem, target := range map[string]string{
		"pip": "tests/test_overnight.py",
		"uv":  "tests/test_repeated_headings.py",
	} {
		t.Run(ecosystem, func(t *testing.T) {
			r := request(t, repositoryOf(t, "../../fixtures/ecosystem/"+ecosystem, nil))
			r.Targets = []string{target}
			reproducedAndFixed(t, finished(t, create(t, r), proofTime))
		})
	}
}
