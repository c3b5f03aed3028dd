//go:build cluster

package cluster

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/test/proof"
)

// TestProofUnsupportedSetups: what cannot be run safely is refused by a name of its
// own, before any VM or proxy exists, and leaves nothing behind.
func TestProofUnsupportedSetups(t *testing.T) {
	record := proof.New(t, "ac3", "AC3", "unsupported setups are refused by name before any VM or proxy exists, and nothing is left behind")
	for _, tc := range []struct {
		name      string
		ecosystem v1alpha1.Ecosystem
		change    func(t *testing.T, base string)
		detail    v1alpha1.Detail
		subject   string
	}{
		{"requirements.txt that does not pin pytest", "pip", replaced("requirements.txt", "pytest==", "pytest>="), v1alpha1.DetailUnpinnedRequirement, "pytest"},
		{"a pnpm project", "npm", renamed("package-lock.json", "pnpm-lock.yaml"), v1alpha1.DetailUnsupportedManager, "pnpm-lock.yaml"},
		{"a Yarn project", "npm", renamed("package-lock.json", "yarn.lock"), v1alpha1.DetailUnsupportedManager, "yarn.lock"},
		{"Node and Python together", "npm", added("requirements.txt", ""), v1alpha1.DetailAmbiguousManager, ""},
		{"an .npmrc", "npm", added(".npmrc", "registry=https://registry.example.com/\n"), v1alpha1.DetailUnsupportedConfig, ".npmrc"},
		{"a uv project that installs itself", "uv", replaced("pyproject.toml", "package = false", "package = true"), v1alpha1.DetailProjectBuildRequired, "tool.uv.package"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := fixtures[tc.ecosystem].submit(t, tc.ecosystem, defaultName, tc.change)
			run := finished(t, s.run, proofTime)
			expected := proof.Facts{
				"outcome": "unsupported_environment, " + string(tc.detail), "remedy in the catalogue": "yes",
				"VMs": "0", "proxies": "0", "left behind": "nothing",
			}
			if tc.subject != "" {
				expected["subject"] = tc.subject
			}
			record.Add(t, proof.Row{
				Name: tc.name, Submitted: s.given(tc.name), Expected: expected,
				Seen: proof.Outcome(run.Status.Outcome).Plus(leftFacts(t, run), started(run)),
				Ran:  ran(t, run), Status: &run.Status,
			})
		})
	}
}

// started counts what a refused run must not start.
func started(run *v1alpha1.ZTRun) proof.Facts {
	facts := proof.Facts{"VMs": "0", "proxies": "0"}
	if e := run.Status.Execution; e != nil {
		facts["VMs"] = strconv.Itoa(len(e.Trees))
	}
	if run.Status.Proxy != nil {
		facts["proxies"] = "1"
	}
	return facts
}

func replaced(name, old, text string) func(*testing.T, string) {
	return func(t *testing.T, base string) { replaceIn(t, base, name, old, text) }
}

func renamed(name, to string) func(*testing.T, string) {
	return func(t *testing.T, base string) {
		if err := os.Rename(filepath.Join(base, name), filepath.Join(base, to)); err != nil {
			t.Fatal(err)
		}
	}
}

func added(name, text string) func(*testing.T, string) {
	return func(t *testing.T, base string) {
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
