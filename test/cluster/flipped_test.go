//go:build cluster

package cluster

import (
	"path"
	"strings"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/lockindex"
	"github.com/ai-dossier/zt-operator/test/proof"
)

// flip is one digit of one digest of a lockfile.
type flip struct {
	lockfile, digest, flipped string
	// file is what the digest is of, and says the package manager's own error.
	file, says string
}

// refusedWithin bounds an installation that meets a wrong digest, on a busy machine. npm
// with its own retries, which are mostly waiting, took 142 s on an idle one.
const refusedWithin = 2 * time.Minute

// TestProofFlippedDigests: with one digest flipped in the lockfile, the package manager
// itself refuses the file, at once, and the outcome names both. The trees are taken in
// turn: the first ends it.
func TestProofFlippedDigests(t *testing.T) {
	profile := profileInTurn(t)
	for _, ecosystem := range []v1alpha1.Ecosystem{v1alpha1.EcosystemNPM, v1alpha1.EcosystemPip, v1alpha1.EcosystemUV} {
		t.Run(string(ecosystem), func(t *testing.T) {
			t.Parallel()
			record := proof.New(t, "ac1-flipped-"+string(ecosystem), "AC1",
				"one flipped digest in the lockfile ends provisioning with the package manager's own hash error, quickly, and the file is named")
			f := fixtures[ecosystem].flip
			s := fixtures[ecosystem].submit(t, ecosystem, profile, func(t *testing.T, base string) { replaceIn(t, base, f.lockfile, f.digest, f.flipped) })
			run := finished(t, s.run, proofTime)
			record.Add(t, proof.Row{
				Name: string(ecosystem), Submitted: s.given(f.lockfile + ": " + f.digest + "… is now " + f.flipped + "…"),
				Expected: proof.Facts{
					"outcome": "provisioning_failed, artifact_hash_mismatch", "subject": f.file, "remedy in the catalogue": "yes",
					"Base/install": "failed, exit 1; network package_proxy", "the manager's own error": f.says, "within two minutes": "yes",
					"first finding in the mirror's cache": f.file + " " + string(lockindex.HashMismatch),
					"commands without a network":          "none", "left behind": "nothing",
				},
				Seen: f.seen(t, run), Ran: ran(t, run), Status: &run.Status,
			})
		})
	}
}

// seen are the facts that a flipped digest must give.
func (f flip) seen(t *testing.T, run *v1alpha1.ZTRun) proof.Facts {
	t.Helper()
	facts := proof.Outcome(run.Status.Outcome).Plus(leftFacts(t, run), proof.Facts{"commands without a network": "none"})
	e := run.Status.Execution
	if e == nil {
		return facts
	}
	if a := e.CacheAudit; a != nil && len(a.Findings) > 0 {
		facts["first finding in the mirror's cache"] = path.Base(a.Findings[0].Artifact) + " " + string(a.Findings[0].Finding)
	}
	for i := range e.Trees {
		for j := range e.Trees[i].Commands {
			switch c := &e.Trees[i].Commands[j]; {
			case c.Phase == v1alpha1.VMVerification:
				facts["commands without a network"] = string(e.Trees[i].Name) + "/" + c.Name
			case c.Name == "install" && e.Trees[i].Name == v1alpha1.TreeBase:
				facts = facts.Plus(f.refusal(c))
			}
		}
	}
	return facts
}

func (f flip) refusal(c *v1alpha1.CommandStatus) proof.Facts {
	facts := proof.Facts{"Base/install": proof.Command(c), "within two minutes": "no", "the manager's own error": "not in " + c.OutputTail}
	if time.Duration(c.DurationMillis)*time.Millisecond < refusedWithin {
		facts["within two minutes"] = "yes"
	}
	if strings.Contains(c.OutputTail, f.says) {
		facts["the manager's own error"] = f.says
	}
	return facts
}
