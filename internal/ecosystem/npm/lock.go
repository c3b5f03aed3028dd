package npm

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/boundedjson"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/model"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

var (
	// packageName is what the proxy policy admits in a path.
	packageName = regexp.MustCompile(`^(?:@[a-z0-9][a-z0-9._~-]*/)?[A-Za-z0-9][A-Za-z0-9._~-]*$`)
	// location is where a package is installed: node_modules folders within packages.
	location = regexp.MustCompile(`^(?:node_modules/(?:@[^/]+/)?[^/]+/)*node_modules/((?:@[^/]+/)?[^/]+)$`)
	release  = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$`)
)

const maxName = 214

// readLock checks every entry of a lockfile and returns the fetched packages in the
// lockfile's order. overrides are package.json's, which the lockfile does not repeat.
func readLock(lockfile, overrides *boundedjson.Object) ([]model.Locked, error) {
	if err := lockVersion(lockfile); err != nil {
		return nil, err
	}
	value, _ := lockfile.Get("packages")
	packages, ok := value.(*boundedjson.Object)
	if !ok {
		return nil, refusal.New(v1alpha1.DetailInvalidLockfile, "packages", "package-lock.json has no object packages")
	}
	l := &lock{entries: map[string]*boundedjson.Object{}, aliases: map[[2]string]bool{}}
	if err := l.collect(packages); err != nil {
		return nil, err
	}
	l.overridden(overrides)
	if l.entries[""] == nil {
		return nil, refusal.New(v1alpha1.DetailInvalidLockfile, "packages", "package-lock.json has no entry for the project itself")
	}
	var all []model.Locked
	for _, key := range packages.Keys() {
		if key == "" {
			if err := l.root(); err != nil {
				return nil, err
			}
			continue
		}
		p, fetched, err := l.entry(key)
		if err != nil {
			return nil, err
		}
		if fetched {
			all = append(all, p)
		}
	}
	return all, nil
}

func lockVersion(lockfile *boundedjson.Object) error {
	value, _ := lockfile.Get("lockfileVersion")
	number, ok := value.(json.Number)
	switch {
	case !ok:
		return refusal.New(v1alpha1.DetailInvalidLockfile, "lockfileVersion", "package-lock.json has no number lockfileVersion")
	case number != "2" && number != "3":
		return refusal.New(v1alpha1.DetailUnsupportedLockfile, "lockfileVersion", "it is neither 2 nor 3")
	}
	return nil
}

// lock is a lockfile being checked.
type lock struct {
	entries map[string]*boundedjson.Object
	// aliases are the edges npm:<target>, as installed name and target.
	aliases map[[2]string]bool
}

// collect reads the entries, and the aliases that any of them declares.
func (l *lock) collect(packages *boundedjson.Object) error {
	for _, key := range packages.Keys() {
		value, _ := packages.Get(key)
		entry, ok := value.(*boundedjson.Object)
		if !ok {
			return refusal.New(v1alpha1.DetailInvalidLockfile, key, "its entry is not an object")
		}
		l.entries[key] = entry
		for _, field := range dependencyFields {
			edges, ok := member[*boundedjson.Object](entry, field)
			if !ok {
				continue
			}
			for _, name := range edges.Keys() {
				if target, _, ok := aliased(stringOf(edges, name)); ok {
					l.aliases[[2]string{name, target}] = true
				}
			}
		}
	}
	return nil
}

// overridden reads the aliases among package.json's overrides, which may be nested
// and may qualify a name by a range.
func (l *lock) overridden(overrides *boundedjson.Object) {
	if overrides == nil {
		return
	}
	for _, key := range overrides.Keys() {
		name := key
		if at := strings.LastIndex(key, "@"); at > 0 {
			name = key[:at]
		}
		if spec, ok := member[string](overrides, key); ok {
			if target, _, ok := aliased(spec); ok {
				l.aliases[[2]string{name, target}] = true
			}
		}
		if nested, ok := member[*boundedjson.Object](overrides, key); ok {
			l.overridden(nested)
			if target, _, ok := aliased(stringOf(nested, ".")); ok {
				l.aliases[[2]string{name, target}] = true
			}
		}
	}
}

func stringOf(object *boundedjson.Object, key string) string {
	text, _ := member[string](object, key)
	return text
}

func (l *lock) root() error {
	if _, ok := l.entries[""].Get("workspaces"); ok {
		return refusal.New(v1alpha1.DetailUnsupportedDependency, "workspaces", "package-lock.json has workspaces")
	}
	return nil
}

// entry checks one package; fetched is false for one that comes inside another.
func (l *lock) entry(key string) (p model.Locked, fetched bool, err error) {
	entry := l.entries[key]
	m := location.FindStringSubmatch(key)
	if m == nil {
		return p, false, unsupportedDependency(key, "it is installed outside node_modules, as workspaces and local packages are")
	}
	if value, ok := entry.Get("link"); ok && value != false {
		return p, false, unsupportedDependency(m[1], "it is a link")
	}
	// Such a package brings its own lockfile, whose packages this one does not list.
	if value, ok := entry.Get("hasShrinkwrap"); ok && value != false {
		return p, false, unsupportedDependency(m[1], "it ships a lockfile of its own, so what it installs is not locked here")
	}
	if _, ok := entry.Get("resolved"); !ok {
		return p, false, l.bundled(key, m[1])
	}
	p, err = l.fetched(entry, m[1])
	return p, true, err
}

// bundled admits a package without a source only if it comes inside the tarball of
// a package above it.
func (l *lock) bundled(key, name string) error {
	if inBundle, _ := member[bool](l.entries[key], "inBundle"); inBundle {
		for above := parent(key); above != ""; above = parent(above) {
			entry := l.entries[above]
			if entry == nil {
				break
			}
			if bundles(entry) {
				return nil
			}
		}
	}
	return unsupportedDependency(name,
		"the lockfile does not say where it comes from; write it with omit-lockfile-registry-resolved off")
}

func bundles(entry *boundedjson.Object) bool {
	for _, field := range []string{"bundleDependencies", "bundledDependencies"} {
		if names, ok := member[[]any](entry, field); ok && len(names) > 0 {
			return true
		}
		if all, _ := member[bool](entry, field); all {
			return true
		}
	}
	return false
}

// parent returns the location of the package whose node_modules holds key, or "".
func parent(key string) string {
	at := strings.LastIndex(key, "/node_modules/")
	if at < 0 {
		return ""
	}
	return key[:at]
}

// fetched checks that an entry is the release it says it is.
func (l *lock) fetched(entry *boundedjson.Object, installed string) (model.Locked, error) {
	name, err := l.nameOf(entry, installed)
	if err != nil {
		return model.Locked{}, err
	}
	version := stringOf(entry, "version")
	if !release.MatchString(version) {
		return model.Locked{}, refusal.New(v1alpha1.DetailInvalidLockfile, installed, "its version is not X.Y.Z")
	}
	resolved := stringOf(entry, "resolved")
	if !isTarball(resolved, name, version) {
		return model.Locked{}, unsupportedDependency(installed,
			"it is not resolved to the registry's own tarball of its name and version")
	}
	integrity, ok := member[string](entry, "integrity")
	digest := sha512Of(integrity)
	if !ok || digest == nil {
		return model.Locked{}, refusal.New(v1alpha1.DetailMissingHash, installed, "its entry has no integrity with one SHA-512")
	}
	return model.Locked{Name: name, Version: version, URL: resolved, Digests: [][]byte{digest}}, nil
}

// nameOf returns the package's name in the registry. It differs from the installed
// one only for an alias, and npm itself does not check that anyone asked for that
// alias: an entry that merely claims another name is a swapped package.
func (l *lock) nameOf(entry *boundedjson.Object, installed string) (string, error) {
	name := installed
	if value, ok := entry.Get("name"); ok {
		name, _ = value.(string)
	}
	if len(name) > maxName || !packageName.MatchString(name) {
		return "", refusal.New(v1alpha1.DetailInvalidLockfile, installed, "it is not a package name")
	}
	if name != installed && !l.aliases[[2]string{installed, name}] {
		return "", unsupportedDependency(installed, "it is locked to a package of another name, and no dependency is an alias for that")
	}
	return name, nil
}

func unsupportedDependency(subject, message string) error {
	return refusal.New(v1alpha1.DetailUnsupportedDependency, subject, message)
}

// member returns an object's member if it has the type.
func member[T any](object *boundedjson.Object, key string) (T, bool) {
	value, _ := object.Get(key)
	typed, ok := value.(T)
	return typed, ok
}
