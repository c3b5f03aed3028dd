package model

import (
	"slices"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/runtimes"
)

// EntryType is what kind of object a root entry is in git.
type EntryType string

// The kinds of entries.
const (
	EntryFile      EntryType = "file"
	EntryDirectory EntryType = "directory"
	EntrySymlink   EntryType = "symlink"
	EntrySubmodule EntryType = "submodule"
)

// Entry is one entry of the tree's root.
type Entry struct {
	Name string
	Type EntryType
	// Size of a file, in bytes; else 0.
	Size int64
}

// RootFiles is what detection may look at: the root's entries, and the content of
// those regular files that WantedFiles lists and that fit its cap.
type RootFiles struct {
	Names   []Entry
	Content map[string][]byte
}

// Has reports whether the root has an entry of that name, of whatever kind.
func (r RootFiles) Has(name string) bool {
	return slices.ContainsFunc(r.Names, func(e Entry) bool { return e.Name == name })
}

// Regular returns a regular file's bytes; ok is false if it is another kind of entry
// or above its bound.
func (r RootFiles) Regular(name string) (data []byte, ok bool) {
	regular := slices.ContainsFunc(r.Names, func(e Entry) bool { return e.Name == name && e.Type == EntryFile })
	data, ok = r.Content[name]
	return data, ok && regular
}

// Runner is what runs the tests of an npm project and writes their report.
type Runner string

// The runners. Node's own follows NODE_OPTIONS, and so does what a script calls that is
// none of the others; these take arguments.
const (
	RunnerNode   Runner = "node"
	RunnerJest   Runner = "jest"
	RunnerMocha  Runner = "mocha"
	RunnerVitest Runner = "vitest"
)

// Detection is what was found in a tree's root.
type Detection struct {
	// Ecosystem detected.
	Ecosystem v1alpha1.Ecosystem
	// Runner of an npm project; "" for others, whose runner is pytest.
	Runner Runner
	// Packages counts the packages the lockfile has fetched.
	Packages int
	// Declarations about interpreter and manager, in a stable order.
	Declarations []runtimes.Declaration
	// ManagerVersion is the exact version the repository asks of its manager, or "".
	ManagerVersion string
}

// Locked is one artifact that the lockfile admits.
type Locked struct {
	// Name and Version of the package in its registry.
	Name    string
	Version string
	// URL of the artifact; empty for pip, whose lockfiles name none.
	URL string
	// Digests, any of which the bytes may have: SHA-512 for npm, else SHA-256.
	Digests [][]byte
}

// Command is one command of a plan, as data: this package executes nothing.
type Command struct {
	// Name is unique in the plan and at most 32 characters.
	Name string
	Argv []string
	Env  map[string]string
	// Phase the VM must be in.
	Phase brokerproto.Phase
	// Network the command gets; other than none only in provisioning.
	Network brokerproto.Network
	// Report is true for a test command, which writes brokerproto.ReportFile.
	Report bool
}

// Plan is all commands of one tree.
type Plan struct {
	// Provisioning runs first, with the mirror reachable and no code of the
	// repository executed.
	Provisioning []Command
	// Prepare runs offline before any test, once.
	Prepare []Command
	// Suite is the repository's whole test suite.
	Suite Command
	// Regression runs the proof's targets only.
	Regression Command
}

// Names of the commands of the plans, each unique in its plan.
const (
	CommandExport     = "export"
	CommandVenv       = "venv"
	CommandInstall    = "install"
	CommandRebuild    = "rebuild"
	CommandSuite      = "suite"
	CommandRegression = "regression"
)
