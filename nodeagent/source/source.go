package source

import (
	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
)

// Tree is one verified tree of a proof.
type Tree struct {
	// Commit and TreeID are full SHA-1 object ids.
	Commit string
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

	sandbox *sandbox
}
