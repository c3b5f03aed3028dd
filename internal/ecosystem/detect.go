package ecosystem

import (
	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/model"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/npm"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

// WantedFiles maps the names of root files whose content Detect needs to the most
// bytes of each that it reads. A larger file is left out of RootFiles.Content, and
// Detect refuses it. The caller owns the map.
func WantedFiles() map[string]int64 {
	return npm.Wanted()
}

// Detect returns what the root's files say. Its error is a *Refusal.
//
// Names come first: a file that could redirect fetches, or that belongs to a manager
// that is not supported, refuses the tree before anything is parsed.
func Detect(root RootFiles) (Detection, error) {
	node, python := false, false
	for _, entry := range root.Names {
		if redirecting[entry.Name] {
			return Detection{}, refusal.New(v1alpha1.DetailUnsupportedConfig, entry.Name,
				"configuration in the repository could redirect what is fetched")
		}
		node = node || nodeFiles[entry.Name]
		python = python || pythonFiles[entry.Name]
	}
	if node && python {
		return Detection{}, refusal.New(v1alpha1.DetailAmbiguousManager, "",
			"the root has files of Node and of Python package managers; it can be run as one of them only")
	}
	for _, entry := range root.Names {
		if unsupportedFiles[entry.Name] {
			return Detection{}, refusal.New(v1alpha1.DetailUnsupportedManager, entry.Name,
				"it belongs to a package manager that is not supported")
		}
	}
	switch {
	case node:
		return npm.Detect(root)
	case python:
		return Detection{}, refusal.New(v1alpha1.DetailEcosystemNotOffered, "",
			"this is a Python project, which this version of the operator does not run; it runs npm projects")
	}
	return Detection{}, refusal.New(v1alpha1.DetailNoEcosystem, "",
		"the root has no package.json and no package-lock.json")
}

// Artifacts returns what the lockfile of a tree that Detect accepted admits. Its
// error is a *Refusal.
func Artifacts(root RootFiles, detection Detection) ([]model.Locked, error) {
	switch detection.Ecosystem {
	case v1alpha1.EcosystemNPM:
		return npm.Artifacts(root)
	}
	return nil, refusal.New(v1alpha1.DetailNoEcosystem, "", "the ecosystem has no lockfile that is known here")
}
