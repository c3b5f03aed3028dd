package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

// Reader reads bundles. Its zero value is ready to use; it needs root.
type Reader struct {
	// Exe is the static binary that is executed as the child, with ChildArgument
	// first; without it, this process's own.
	Exe string

	// Wall-clock bounds of a child; the defaults if zero.
	readTime, diskTime time.Duration
}

// ChildArgument is the first argument of the child process; the binary's main
// calls ChildMain when it sees it.
const ChildArgument = "read-source"

// Read verifies that the bundle has every commit of the proof and that its trees
// can be run. It works in a new folder below dir, an existing folder of the
// caller's alone, through a child with the given uid, which should be no other
// process's. A bundle that cannot be run is an *ecosystem.Refusal; any other error
// is the node's. Nothing is left of a Read that failed.
func (r *Reader) Read(ctx context.Context, bundle []byte, proof v1alpha1.Proof, dir string, uid uint32) (*Source, error) {
	switch {
	case len(bundle) == 0:
		return nil, refusal.New(v1alpha1.DetailBundleMissing, "", "the bundle is empty: pack one with git bundle create")
	case len(bundle) > MaxBundle:
		return nil, refusal.New(v1alpha1.DetailBundleTooLarge, "",
			fmt.Sprintf("the bundle has %d bytes, at most %d are read: pack less history", len(bundle), MaxBundle))
	}
	wanted := request{Trees: treesOf(proof), Wanted: ecosystem.WantedFiles()}
	for _, tree := range wanted.Trees {
		if !objectID.MatchString(tree.Commit) {
			return nil, refusal.New(v1alpha1.DetailCommitNotInBundle, string(tree.Name),
				"the commit is not a full SHA-1 object id in lower case")
		}
	}
	box, err := r.newSandbox(dir, uid)
	if err != nil {
		return nil, err
	}
	read, err := box.read(ctx, wanted, bundle)
	if err != nil {
		_ = box.remove() // the first error says more
		return nil, err
	}
	sum := sha256.Sum256(bundle)
	return &Source{Digest: "sha256:" + hex.EncodeToString(sum[:]), Trees: read.trees, Protected: read.protected, sandbox: box}, nil
}

// treesOf lists the trees of a proof. The targets must be in those that run them.
func treesOf(proof v1alpha1.Proof) []wantedTree {
	targets := make([]string, len(proof.Targets))
	for i, target := range proof.Targets {
		targets[i] = string(target)
	}
	return []wantedTree{
		{Name: v1alpha1.TreeBase, Commit: proof.Base.Commit},
		{Name: v1alpha1.TreeRegressionTest, Commit: proof.RegressionTest.Commit, Targets: targets},
		{Name: v1alpha1.TreeCandidate, Commit: proof.Candidate.Commit, Targets: targets},
	}
}
