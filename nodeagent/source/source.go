package source

import (
	"context"
	"fmt"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
)

// Tree is one verified tree of a proof.
type Tree struct {
	// Commit is the full SHA-1 id of the commit, 40 hex digits.
	Commit string
	// TreeID is that of its tree.
	TreeID string
	// Files counts the tree's files and symbolic links.
	Files int
	// Root is what detection may look at.
	Root ecosystem.RootFiles
}

// Source is a bundle that was read. Close it.
type Source struct {
	// Digest of the bundle's bytes, sha256:….
	Digest string
	// Trees of the proof by name.
	Trees map[v1alpha1.TreeName]Tree

	// Protected are the files that judge the candidate, which has them as the
	// regressionTest tree does: at most MaxProtected, the most telling first.
	Protected []ProtectedFile

	sandbox *sandbox
}

// Disk writes a tree as a read-only erofs image to path, mode 0444, owned by this
// process; everything in it is owned by uid 1000 with mode 0644 or 0755 and dated
// to the epoch. Path must not exist. One Disk at a time.
func (s *Source) Disk(ctx context.Context, name v1alpha1.TreeName, path string) error {
	tree, ok := s.Trees[name]
	if !ok {
		return fmt.Errorf("the source has no tree %q", name)
	}
	if err := s.sandbox.disk(ctx, tree.TreeID, path); err != nil {
		return fmt.Errorf("disk of tree %s: %w", name, err)
	}
	return nil
}

// Close removes everything that Read and Disk left but the disks themselves.
func (s *Source) Close() error { return s.sandbox.remove() }
