package source

import (
	"context"
	"errors"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// Reader reads bundles. Its zero value is ready to use.
type Reader struct {
	// Exe is the binary that is executed as the child, with the argument
	// ChildArgument; without it, this process's own.
	Exe string
}

// ChildArgument is the first argument of the child process; the binary's main
// calls ChildMain when it sees it.
const ChildArgument = "read-source"

// sandbox is the private folder of one source and the child that works in it.
type sandbox struct{}

// Read verifies that the bundle has every commit of the proof and that its trees
// can be run. It works in a new folder below dir, an existing folder of the
// caller's alone, through a child with the given uid; no two runs may share one.
// A bundle that cannot be run is an *ecosystem.Refusal; any other error is the
// node's.
func (r *Reader) Read(ctx context.Context, bundle []byte, proof v1alpha1.Proof, dir string, uid uint32) (*Source, error) {
	return nil, errors.New("not built yet")
}

// Disk writes the tree as a read-only erofs image to path, mode 0444, owned by
// this process. Path must not exist.
func (s *Source) Disk(ctx context.Context, name v1alpha1.TreeName, path string) error {
	return errors.New("not built yet")
}

// Close removes everything Read and Disk left but the disks themselves.
func (s *Source) Close() error { return nil }
