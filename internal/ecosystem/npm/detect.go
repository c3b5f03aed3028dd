package npm

import (
	"fmt"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/boundedjson"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/model"
	"github.com/ai-dossier/zt-operator/internal/protect"
	"github.com/ai-dossier/zt-operator/internal/refusal"
	"github.com/ai-dossier/zt-operator/internal/runtimes"
)

// Root files of npm.
const (
	Manifest = "package.json"
	Lockfile = "package-lock.json"
)

// versionFiles declare the Node version, in the order they are reported.
var versionFiles = []string{".nvmrc", ".node-version"}

// Bounds of the files. A lockfile of 2,000 packages has about 1 MiB.
const (
	maxManifest    = 1 << 20
	maxLockfile    = 8 << 20
	maxVersionFile = 4 << 10
)

// Wanted maps the root files whose content Detect needs to their bounds in bytes, with
// the configuration of runners, which says what else judges a candidate.
func Wanted() map[string]int64 {
	wanted := protect.Configs()
	wanted[Manifest], wanted[Lockfile] = maxManifest, maxLockfile
	for _, name := range versionFiles {
		wanted[name] = maxVersionFile
	}
	return wanted
}

// Detect reads a tree that has a file of npm. Its error is a *refusal.Refusal.
func Detect(root model.RootFiles) (model.Detection, error) {
	project, locked, err := read(root)
	if err != nil {
		return model.Detection{}, err
	}
	runner, err := project.runner()
	if err != nil {
		return model.Detection{}, err
	}
	files, err := declaredInFiles(root)
	if err != nil {
		return model.Detection{}, err
	}
	return model.Detection{
		Ecosystem:      v1alpha1.EcosystemNPM,
		Runner:         runner,
		Packages:       len(locked),
		Declarations:   append(project.declarations, files...),
		ManagerVersion: project.managerVersion,
	}, nil
}

// Artifacts returns the tarballs that the lockfile has fetched, in its order. Its
// error is a *refusal.Refusal.
func Artifacts(root model.RootFiles) ([]model.Locked, error) {
	_, locked, err := read(root)
	return locked, err
}

func read(root model.RootFiles) (project, []model.Locked, error) {
	if !root.Has(Manifest) {
		return project{}, nil, refusal.New(v1alpha1.DetailMissingManifest, Manifest,
			"there is a package-lock.json and no package.json beside it")
	}
	manifest, err := readObject(root, Manifest, v1alpha1.DetailInvalidManifest,
		boundedjson.Limits{Bytes: maxManifest, Depth: 32, Values: 50_000})
	if err != nil {
		return project{}, nil, err
	}
	p, err := readManifest(manifest)
	if err != nil {
		return project{}, nil, err
	}
	if !root.Has(Lockfile) {
		return project{}, nil, refusal.New(v1alpha1.DetailMissingLockfile, Lockfile,
			"there is a package.json and no package-lock.json beside it; dependencies are installed from a lockfile only")
	}
	lockfile, err := readObject(root, Lockfile, v1alpha1.DetailInvalidLockfile,
		boundedjson.Limits{Bytes: maxLockfile, Depth: 128, Values: 1_000_000})
	if err != nil {
		return project{}, nil, err
	}
	overrides, _ := member[*boundedjson.Object](manifest, "overrides")
	locked, err := readLock(lockfile, overrides)
	p.packages, _ = member[*boundedjson.Object](lockfile, "packages")
	return p, locked, err
}

func readObject(root model.RootFiles, name string, detail v1alpha1.Detail, limits boundedjson.Limits) (*boundedjson.Object, error) {
	data, ok := root.Regular(name)
	if !ok {
		return nil, refusal.New(detail, name, fmt.Sprintf("it is not a regular file of at most %d bytes", limits.Bytes))
	}
	object, err := boundedjson.ParseObject(data, limits)
	if err != nil {
		return nil, refusal.New(detail, name, err.Error())
	}
	return object, nil
}

// declaredInFiles returns what the version files declare.
func declaredInFiles(root model.RootFiles) ([]runtimes.Declaration, error) {
	var declarations []runtimes.Declaration
	for _, name := range versionFiles {
		if !root.Has(name) {
			continue
		}
		data, ok := root.Regular(name)
		if !ok {
			return nil, refusal.New(v1alpha1.DetailRuntimeDeclaration, name,
				fmt.Sprintf("it is not a regular file of at most %d bytes", maxVersionFile))
		}
		declarations = append(declarations, runtimes.Declaration{
			Source: name, Target: runtimes.Interpreter, Syntax: runtimes.NodeVersion, Value: string(data),
		})
	}
	return declarations, nil
}
