package ecosystem

import (
	"github.com/ai-dossier/zt-operator/internal/ecosystem/model"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

// Words shared with the managers' packages.
type (
	// Refusal is the error of Detect.
	Refusal = refusal.Refusal
	// RootFiles is the input of Detect.
	RootFiles = model.RootFiles
	// Entry is one entry of the root.
	Entry = model.Entry
	// EntryType is an entry's kind.
	EntryType = model.EntryType
	// Detection is the result of Detect.
	Detection = model.Detection
	// Runner is what runs an npm project's tests.
	Runner = model.Runner
	// Command is one command of a plan.
	Command = model.Command
	// Plan is all commands of one tree.
	Plan = model.Plan
)

// The kinds of root entries.
const (
	EntryFile      = model.EntryFile
	EntryDirectory = model.EntryDirectory
	EntrySymlink   = model.EntrySymlink
	EntrySubmodule = model.EntrySubmodule
)

// The runners of npm projects.
const (
	RunnerNode   = model.RunnerNode
	RunnerJest   = model.RunnerJest
	RunnerMocha  = model.RunnerMocha
	RunnerVitest = model.RunnerVitest
)

// Names of the commands of the plans.
const (
	CommandExport     = model.CommandExport
	CommandVenv       = model.CommandVenv
	CommandInstall    = model.CommandInstall
	CommandRebuild    = model.CommandRebuild
	CommandSuite      = model.CommandSuite
	CommandRegression = model.CommandRegression
)
