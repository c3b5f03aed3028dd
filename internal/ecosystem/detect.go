package ecosystem

import (
	"maps"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/model"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/npm"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/pip"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/pypi"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/uv"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

// WantedFiles maps the names of root files whose content Detect needs to the most
// bytes of each that it reads. A larger file is left out of RootFiles.Content, and
// Detect refuses it. The caller owns the map.
func WantedFiles() map[string]int64 {
	all := npm.Wanted()
	maps.Copy(all, pip.Wanted())
	maps.Copy(all, uv.Wanted())
	return all
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
		return detectPython(root)
	}
	return Detection{}, refusal.New(v1alpha1.DetailNoEcosystem, "",
		"the root has neither package.json nor requirements.txt nor pyproject.toml")
}

// detectPython tells pip from uv by their lockfiles.
func detectPython(root RootFiles) (Detection, error) {
	locksPip, locksUV := root.Has(pip.Lockfile), root.Has(uv.Lockfile)
	switch {
	case locksPip && locksUV:
		return Detection{}, refusal.New(v1alpha1.DetailAmbiguousManager, "",
			"the root has both uv.lock and requirements.txt; keep the one that is to be installed")
	case locksUV:
		return uv.Detect(root)
	case locksPip:
		return pip.Detect(root)
	}
	manifest, err := pypi.ReadManifest(root)
	if err != nil {
		return Detection{}, err
	}
	// A manager whose lockfile was not committed.
	if tool, ok := manifest["tool"].(map[string]any); ok {
		for _, name := range []string{"poetry", "pdm"} {
			if _, ok := tool[name]; ok {
				return Detection{}, refusal.New(v1alpha1.DetailUnsupportedManager, "tool."+name,
					"pyproject.toml is written for a package manager that is not supported")
			}
		}
	}
	return Detection{}, refusal.New(v1alpha1.DetailMissingLockfile, uv.Lockfile,
		"there is neither a uv.lock nor a requirements.txt; dependencies are installed from a lockfile only")
}

// Fits judges what of a tree that Detect accepted depends on the selected runtime:
// environment markers, and which wheels it can install. Its error is a *Refusal.
func Fits(root RootFiles, detection Detection, runtime v1alpha1.Runtime) error {
	switch detection.Ecosystem {
	case v1alpha1.EcosystemPip:
		return pip.Fits(root, runtime.Version)
	case v1alpha1.EcosystemUV:
		return uv.Fits(root, runtime.Version)
	}
	return nil // npm itself leaves out what is for other platforms.
}

// Artifacts returns what the lockfile of a tree that Detect accepted admits. Its
// error is a *Refusal.
func Artifacts(root RootFiles, detection Detection) ([]model.Locked, error) {
	switch detection.Ecosystem {
	case v1alpha1.EcosystemNPM:
		return npm.Artifacts(root)
	case v1alpha1.EcosystemPip:
		return pip.Artifacts(root)
	case v1alpha1.EcosystemUV:
		return uv.Artifacts(root)
	}
	return nil, refusal.New(v1alpha1.DetailNoEcosystem, "", "the ecosystem has no lockfile that is known here")
}
