package uv

import (
	"fmt"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/boundedtoml"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/model"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/pypi"
	"github.com/ai-dossier/zt-operator/internal/refusal"
	"github.com/ai-dossier/zt-operator/internal/runtimes"
)

// Lockfile is uv's root file.
const Lockfile = "uv.lock"

// Bounds of the lockfile. One of 2,000 packages has about 4 MiB.
const (
	maxLockfile = 12 << 20
	maxValues   = 1_500_000
)

// manager is what the plan needs of uv: the format requirements.txt came under that
// name with 0.6, and revisions of the lockfile with 0.7.
const manager = ">=0.7"

// testRunner has to be locked.
const testRunner = "pytest"

// Wanted maps the root files whose content Detect needs to their bounds in bytes.
func Wanted() map[string]int64 {
	return map[string]int64{
		Lockfile: maxLockfile, pypi.Manifest: pypi.MaxManifest, pypi.VersionFile: pypi.MaxVersionFile,
	}
}

// Detect reads a tree that has a uv.lock. Its error is a *refusal.Refusal.
func Detect(root model.RootFiles) (model.Detection, error) {
	manifest, lock, err := read(root)
	if err != nil {
		return model.Detection{}, err
	}
	if len(lock.named[testRunner]) == 0 {
		return model.Detection{}, noTestRunner()
	}
	declarations, err := pypi.Declared(root, manifest.table)
	if err != nil {
		return model.Detection{}, err
	}
	declarations = append(declarations, lock.declarations...)
	declarations = append(declarations, runtimes.Declaration{
		Source: "uv", Target: runtimes.Manager, Syntax: runtimes.PEP440, Value: manager,
	})
	return model.Detection{
		Ecosystem: v1alpha1.EcosystemUV, Packages: len(lock.packages), Declarations: declarations,
	}, nil
}

// Artifacts returns the files that the lockfile admits, in its order. Its error is a
// *refusal.Refusal.
func Artifacts(root model.RootFiles) ([]model.Locked, error) {
	_, lock, err := read(root)
	if err != nil {
		return nil, err
	}
	var all []model.Locked
	for _, p := range lock.packages {
		for _, a := range p.artifacts {
			all = append(all, model.Locked{Name: p.name, Version: p.version, URL: a.url, Digests: [][]byte{a.digest}})
		}
	}
	return all, nil
}

// Fits walks from the project to what would be installed for the selected
// interpreter, X.Y.Z: each package must have a wheel for it, and pytest must be among
// them. Its error is a *refusal.Refusal.
func Fits(root model.RootFiles, interpreter string) error {
	manifest, lock, err := read(root)
	if err != nil {
		return err
	}
	environment, err := pypi.EnvironmentOf(interpreter)
	if err != nil {
		return fmt.Errorf("the profile's runtime: %w", err)
	}
	w := &walk{lock: lock, environment: environment, reached: map[string]*locked{}, visited: map[string]bool{}}
	if err := w.project(manifest.groups); err != nil {
		return err
	}
	if w.reached[testRunner] == nil {
		return noTestRunner()
	}
	return w.wheels()
}

func noTestRunner() error {
	return refusal.New(v1alpha1.DetailNoTestRunner, testRunner,
		"uv.lock does not lock pytest for the runtime, among the project's dependencies and default groups")
}

func read(root model.RootFiles) (manifest, *lock, error) {
	if !root.Has(pypi.Manifest) {
		return manifest{}, nil, refusal.New(v1alpha1.DetailMissingManifest, pypi.Manifest, "there is a uv.lock and no pyproject.toml beside it")
	}
	table, err := pypi.ReadManifest(root)
	if err != nil {
		return manifest{}, nil, err
	}
	m, err := readManifest(table)
	if err != nil {
		return manifest{}, nil, err
	}
	table, err = pypi.ReadTOML(root, Lockfile, v1alpha1.DetailInvalidLockfile,
		boundedtoml.Limits{Bytes: maxLockfile, Depth: 16, Values: maxValues})
	if err != nil {
		return manifest{}, nil, err
	}
	l, err := readLock(table)
	return m, l, err
}
