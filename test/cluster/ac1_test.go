//go:build cluster

package cluster

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/test/proof"
)

// TestProofPython takes the fixtures of pip and uv the whole way: their own mirror,
// worker and plan.
func TestProofPython(t *testing.T) {
	for _, ecosystem := range []v1alpha1.Ecosystem{v1alpha1.EcosystemPip, v1alpha1.EcosystemUV} {
		t.Run(string(ecosystem), func(t *testing.T) { fixtures[ecosystem].submit(t, ecosystem, defaultName, nil).prove(t) })
	}
}

// prove waits for a run of an unspoilt fixture and holds it against AC1's table.
func (s submission) prove(t *testing.T) {
	t.Helper()
	record := proof.New(t, "ac1-"+string(s.ecosystem), "AC1",
		"each exact tree was provisioned through the proxy alone and tested without a network: the suite passes on the base, "+
			"the regression test fails without the fix and passes with it, and so does the suite")
	run := finished(t, s.run, proofTime)
	seen := proof.Outcome(run.Status.Outcome).Plus(proof.Egress(run.Status.Egress), leftFacts(t, run))
	if e := run.Status.Execution; e != nil {
		seen = seen.Plus(proof.Cache(e.CacheAudit))
		if e.Source != nil {
			seen["bundle"] = e.Source.Digest
		}
		for i := range e.Trees {
			seen = seen.Plus(proof.Tree(&e.Trees[i]))
		}
	}
	record.Add(t, proof.Row{
		Name: string(s.ecosystem), Submitted: s.given("none"), Expected: s.ac1(t), Seen: seen, Ran: ran(t, run), Status: &run.Status,
	})
	wholeProof(t, run)
}

// ac1 is the fixture's row of AC1's table.
func (s submission) ac1(t *testing.T) proof.Facts {
	t.Helper()
	f := fixtures[s.ecosystem]
	facts := proof.Facts{
		"outcome": "reproduced_and_fixed, reproduced_and_fixed", "remedy in the catalogue": "yes", "left behind": "nothing",
		"bundle":       s.bundleDigest(),
		"egress":       "some admitted: yes, 0 denied, 0 redirects, 0 violations, log whole: yes",
		"egress hosts": f.hosts,
		"cache":        "some files: yes, all admitted: yes", "cache audited at": "Base Candidate RegressionTest",

		"Base/suite":                    passed(f.suite),
		"RegressionTest/regression":     failed(f.regression, f.failing),
		"Candidate/regression":          passed(f.regression),
		"Candidate/regression compared": compared(f.regression, "RegressionTest/regression"),
		"Candidate/suite":               passed(f.suite + f.regression),
		"Candidate/suite compared":      compared(f.suite, "Base/suite"),
		"Candidate/sentinel":            "failed, exit 1; tests planted: yes, all reported as failed: yes, 0 others failed; " + counts(f.regression, 0),
		"Candidate/sentinel compared":   compared(f.regression, "RegressionTest/regression"),
	}
	for tree, commit := range map[string]string{"Base": s.request.Base, "RegressionTest": s.request.RegressionTest, "Candidate": s.request.Candidate} {
		facts[tree+" commit"], facts[tree+" tree"] = commit, s.treeID(t, commit)
		facts[tree+" has a network in verification"] = "no"
		for command, gave := range f.setup {
			facts[tree+"/"+command] = gave
		}
	}
	return facts
}

func passed(tests int) string { return "passed, exit 0; " + counts(tests, 0) }

func failed(tests, failures int) string { return "failed, exit 1; " + counts(tests, failures) }

func counts(tests, failures int) string {
	return fmt.Sprintf("%d tests, %d failures, 0 skipped", tests, failures)
}

func compared(tests int, with string) string {
	return fmt.Sprintf("%d of %[1]d tests of %s, others named: no", tests, with)
}

// leftFacts says what is left of the run.
func leftFacts(t *testing.T, run *v1alpha1.ZTRun) proof.Facts {
	t.Helper()
	if things := left(t, run); len(things) > 0 {
		return proof.Facts{"left behind": strings.Join(things, ", ")}
	}
	return proof.Facts{"left behind": "nothing"}
}
