package pip

import (
	"bytes"
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/model"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/pypi"
	"github.com/ai-dossier/zt-operator/internal/refusal"
	"github.com/ai-dossier/zt-operator/internal/runtimes"
)

// Lockfile is pip's root file.
const Lockfile = "requirements.txt"

// Bounds of the lockfile. One of 500 packages with all their hashes has about 2 MiB.
const (
	maxLockfile = 4 << 20
	maxLines    = 20_000
)

// manager is what the plan needs of pip: install --python came with 22.3.
const manager = ">=22.3"

// testRunner has to be locked.
const testRunner = "pytest"

// Wanted maps the root files whose content Detect needs to their bounds in bytes.
func Wanted() map[string]int64 {
	return map[string]int64{
		Lockfile: maxLockfile, pypi.Manifest: pypi.MaxManifest, pypi.VersionFile: pypi.MaxVersionFile,
	}
}

// Detect reads a tree that has a requirements.txt. Its error is a *refusal.Refusal.
func Detect(root model.RootFiles) (model.Detection, error) {
	requirements, err := read(root)
	if err != nil {
		return model.Detection{}, err
	}
	if !locks(requirements, testRunner) {
		return model.Detection{}, noTestRunner()
	}
	manifest, err := pypi.ReadManifest(root)
	if err != nil {
		return model.Detection{}, err
	}
	declarations, err := pypi.Declared(root, manifest)
	if err != nil {
		return model.Detection{}, err
	}
	declarations = append(declarations, runtimes.Declaration{
		Source: "pip", Target: runtimes.Manager, Syntax: runtimes.PEP440, Value: manager,
	})
	return model.Detection{
		Ecosystem: v1alpha1.EcosystemPip, Packages: len(requirements), Declarations: declarations,
	}, nil
}

// Artifacts returns the releases that the lockfile admits, in its order. Its error is
// a *refusal.Refusal.
func Artifacts(root model.RootFiles) ([]model.Locked, error) {
	requirements, err := read(root)
	if err != nil {
		return nil, err
	}
	var all []model.Locked
	for _, r := range requirements {
		all = append(all, model.Locked{Name: r.name, Version: r.version, Digests: r.hashes})
	}
	return all, nil
}

// Fits judges the lockfile's markers for the selected interpreter, X.Y.Z: what
// remains must have the test runner, and each project once. Its error is a
// *refusal.Refusal.
func Fits(root model.RootFiles, interpreter string) error {
	requirements, err := read(root)
	if err != nil {
		return err
	}
	environment, err := pypi.EnvironmentOf(interpreter)
	if err != nil {
		return fmt.Errorf("the profile's runtime: %w", err)
	}
	var applicable []requirement
	seen := map[string]bool{}
	for _, r := range requirements {
		if !r.marker.Holds(environment) {
			continue
		}
		if seen[r.name] {
			return refusal.New(v1alpha1.DetailInvalidLockfile, r.name, "it is locked twice for the selected runtime")
		}
		seen[r.name] = true
		applicable = append(applicable, r)
	}
	if !locks(applicable, testRunner) {
		return noTestRunner()
	}
	return nil
}

func noTestRunner() error {
	return refusal.New(v1alpha1.DetailNoTestRunner, testRunner, "requirements.txt does not lock pytest for the runtime")
}

func locks(requirements []requirement, name string) bool {
	for _, r := range requirements {
		if r.name == name {
			return true
		}
	}
	return false
}

func read(root model.RootFiles) ([]requirement, error) {
	data, ok := root.Regular(Lockfile)
	if !ok {
		return nil, refusal.New(v1alpha1.DetailInvalidLockfile, Lockfile,
			fmt.Sprintf("it is not a regular file of at most %d bytes", maxLockfile))
	}
	content, err := decode(data)
	if err != nil {
		return nil, err
	}
	lines := logicalLines(content)
	if len(lines) > maxLines {
		return nil, refusal.New(v1alpha1.DetailInvalidLockfile, Lockfile, fmt.Sprintf("it has more than %d lines", maxLines))
	}
	var requirements []requirement
	for _, line := range lines {
		r, ok, err := parseLine(line)
		if err != nil {
			return nil, err
		}
		if ok {
			requirements = append(requirements, r)
		}
	}
	return requirements, nil
}

// coding is the declaration of an encoding that pip looks for in the first two lines.
var coding = regexp.MustCompile(`(?m)^[ \t\f]*#.*coding[:=]`)

// decode admits UTF-8 only, and nothing that would make pip decode it otherwise: a
// byte order mark, or a declared encoding.
func decode(data []byte) (string, error) {
	switch {
	case len(data) > maxLockfile:
		return "", refusal.New(v1alpha1.DetailInvalidLockfile, Lockfile, fmt.Sprintf("it has more than %d bytes", maxLockfile))
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return "", refusal.New(v1alpha1.DetailInvalidLockfile, Lockfile, "it is not UTF-8 text")
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return "", refusal.New(v1alpha1.DetailInvalidLockfile, Lockfile, "it starts with a byte order mark")
	case coding.Match(firstLines(data)):
		return "", refusal.New(v1alpha1.DetailInvalidLockfile, Lockfile, "it declares an encoding; UTF-8 is the only one")
	}
	return string(data), nil
}

// firstLines returns the first two lines, at the boundaries of bytes.
func firstLines(data []byte) []byte {
	end := 0
	for range 2 {
		next := bytes.IndexByte(data[end:], '\n')
		if next < 0 {
			return data
		}
		end += next + 1
	}
	return data[:end]
}
