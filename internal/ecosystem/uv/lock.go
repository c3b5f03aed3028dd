package uv

import (
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/boundedtoml"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/pypi"
	"github.com/ai-dossier/zt-operator/internal/refusal"
	"github.com/ai-dossier/zt-operator/internal/registries"
	"github.com/ai-dossier/zt-operator/internal/runtimes"
)

// lock is a lockfile whose every entry was checked.
type lock struct {
	declarations []runtimes.Declaration
	// project is the entry of the project itself.
	project boundedtoml.Table
	// packages are the fetched ones, in the lockfile's order.
	packages []*locked
	// named has the packages of each normalised name: a lockfile may have several
	// versions, for different environments.
	named map[string][]*locked
}

// locked is one release.
type locked struct {
	name string
	// version as written.
	version   string
	table     boundedtoml.Table
	artifacts []artifact
}

// artifact is one file of a release.
type artifact struct {
	url    string
	digest []byte
	file   pypi.File
}

func readLock(table boundedtoml.Table) (*lock, error) {
	version, ok := table["version"].(int64)
	switch {
	case !ok:
		return nil, invalidLock("version", "uv.lock has no number version")
	case version != 1:
		return nil, refusal.New(v1alpha1.DetailUnsupportedLockfile, "version", "the version of uv.lock is not 1")
	}
	l := &lock{named: map[string][]*locked{}}
	var err error
	if l.declarations, err = pypi.Required(table, Lockfile+"/requires-python"); err != nil {
		return nil, err
	}
	packages, ok := table["package"].([]boundedtoml.Table)
	if !ok {
		return nil, invalidLock("package", "uv.lock has no array of tables package")
	}
	for _, entry := range packages {
		if err := l.add(entry); err != nil {
			return nil, err
		}
	}
	if l.project == nil {
		return nil, invalidLock("package", "uv.lock has no entry for the project itself")
	}
	return l, nil
}

func (l *lock) add(entry boundedtoml.Table) error {
	text, _ := entry["name"].(string)
	name := pypi.NormalName(text)
	if name == "" {
		return invalidLock(text, "an entry of uv.lock has no valid name")
	}
	source, ok := entry["source"].(boundedtoml.Table)
	if !ok || len(source) != 1 {
		return invalidLock(name, "its entry does not say in one way where it comes from")
	}
	for kind, value := range source {
		switch {
		case kind == "registry":
			return l.addRelease(name, entry, value)
		case value != ".":
		case kind == "virtual":
			return l.addProject(entry)
		case kind == "editable", kind == "directory":
			return projectBuild(name)
		}
	}
	return unsupportedDependency(name, "it comes from git, a URL, a path or a workspace; only releases of PyPI are installed")
}

func (l *lock) addProject(entry boundedtoml.Table) error {
	if l.project != nil {
		return invalidLock("package", "uv.lock has two entries for the project itself")
	}
	l.project = entry
	return nil
}

func (l *lock) addRelease(name string, entry boundedtoml.Table, registry any) error {
	index, _ := registry.(string)
	if strings.TrimSuffix(index, "/") != "https://"+registries.PyPIHost+"/simple" {
		return unsupportedDependency(name, "it comes from another index than PyPI")
	}
	p := &locked{name: name, table: entry}
	p.version, _ = entry["version"].(string)
	version, ok := pypi.CanonicalVersion(p.version)
	if !ok {
		return invalidLock(name, "it has no valid version")
	}
	for _, other := range l.named[name] {
		if same, _ := pypi.CanonicalVersion(other.version); same == version {
			return invalidLock(name, "uv.lock has the same version of it twice")
		}
	}
	if err := p.readArtifacts(version); err != nil {
		return err
	}
	l.packages = append(l.packages, p)
	l.named[name] = append(l.named[name], p)
	return nil
}

// readArtifacts checks every file of a release, also those that are never fetched:
// the lockfile as a whole is what was approved.
func (p *locked) readArtifacts(version string) error {
	wheels, err := listOf(p.table, "wheels")
	if err != nil {
		return invalidLock(p.name, "its wheels are not an array of tables")
	}
	for _, wheel := range wheels {
		if err := p.readArtifact(wheel, version, true); err != nil {
			return err
		}
	}
	if len(wheels) == 0 {
		return refusal.New(v1alpha1.DetailBinaryUnavailable, p.name, "it is locked without a wheel, and nothing is built")
	}
	value, ok := p.table["sdist"]
	if !ok {
		return nil
	}
	sdist, ok := value.(boundedtoml.Table)
	if !ok {
		return invalidLock(p.name, "its sdist is not a table")
	}
	return p.readArtifact(sdist, version, false)
}

var digest = regexp.MustCompile(`^sha256:([0-9a-f]{64})$`)

func (p *locked) readArtifact(table boundedtoml.Table, version string, wheel bool) error {
	a := artifact{}
	a.url, _ = table["url"].(string)
	hash, _ := table["hash"].(string)
	var ok bool
	if a.file, ok = fileAt(a.url); !ok {
		return unsupportedDependency(p.name, "one of its files is not fetched from an address of "+registries.FilesHost)
	}
	// An equal hash is not enough: whoever edits a lockfile edits both.
	if a.file.Name != p.name || a.file.Version != version || a.file.Wheel != wheel {
		return unsupportedDependency(p.name, "one of its files is of another package or version, or of another kind")
	}
	m := digest.FindStringSubmatch(hash)
	if m == nil {
		return refusal.New(v1alpha1.DetailMissingHash, p.name, "one of its files has no sha256 digest")
	}
	var err error
	if a.digest, err = hex.DecodeString(m[1]); err != nil {
		return refusal.New(v1alpha1.DetailMissingHash, p.name, "one of its files has no sha256 digest")
	}
	p.artifacts = append(p.artifacts, a)
	return nil
}

var filePath = regexp.MustCompile(registries.FilesPath)

// fileAt returns what the name of a file says that PyPI serves at a URL.
func fileAt(url string) (pypi.File, bool) {
	path, ok := strings.CutPrefix(url, "https://"+registries.FilesHost)
	if !ok || !filePath.MatchString(path) {
		return pypi.File{}, false
	}
	return pypi.ParseFile(path[strings.LastIndexByte(path, '/')+1:])
}

func invalidLock(subject, message string) error {
	return refusal.New(v1alpha1.DetailInvalidLockfile, subject, message)
}

func unsupportedDependency(subject, message string) error {
	return refusal.New(v1alpha1.DetailUnsupportedDependency, subject, message)
}

func sortedKeys(table boundedtoml.Table) []string {
	return slices.Sorted(maps.Keys(table))
}
