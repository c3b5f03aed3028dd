package protect

import (
	"path"
	"reflect"
	"regexp"
	"slices"

	"github.com/ai-dossier/zt-operator/internal/ecosystem/boundedjson"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

// free are the fields of package.json that a fix may change: what is published, and
// what is installed. Everything else could configure a runner, today's or
// tomorrow's.
var free = set(
	"name", "version", "description", "keywords", "homepage", "bugs", "license", "author", "contributors", "funding", "repository",
	"files", "main", "module", "browser", "types", "typings", "exports", "imports", "bin", "man", "directories", "private",
	"publishConfig", "sideEffects", "engines", "os", "cpu",
	"dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "peerDependenciesMeta",
	"bundleDependencies", "bundledDependencies", "overrides",
	"eslintConfig", "prettier", "lint-staged", "browserslist",
)

// Manifest names the first field of package.json by which a candidate changes what
// judges it; nil if there is none. What cannot be parsed is for detection to refuse.
func Manifest(trusted, candidate []byte) *refusal.Refusal {
	was, err := boundedjson.ParseObject(trusted, manifestLimits)
	if err != nil {
		return nil //nolint:nilerr // for detection to refuse
	}
	is, err := boundedjson.ParseObject(candidate, manifestLimits)
	if err != nil {
		return nil //nolint:nilerr // for detection to refuse
	}
	keys := append(slices.Clone(was.Keys()), is.Keys()...)
	for _, key := range keys {
		if free[key] {
			continue
		}
		if at := differs(was, is, key); at != "" {
			return changed(at, "the candidate changes a field of package.json that can steer the tests; it may change what is installed and published, no more")
		}
	}
	return nil
}

// differs returns the path of a difference under a key, two levels deep; "" if
// there is none.
func differs(was, is *boundedjson.Object, key string) string {
	a, hadIt := was.Get(key)
	b, hasIt := is.Get(key)
	before, isObject := a.(*boundedjson.Object)
	after, stillObject := b.(*boundedjson.Object)
	switch {
	case hadIt != hasIt:
		return key
	case !isObject || !stillObject:
		if reflect.DeepEqual(a, b) {
			return ""
		}
		return key
	}
	for _, inner := range append(slices.Clone(before.Keys()), after.Keys()...) {
		x, had := before.Get(inner)
		y, has := after.Get(inner)
		if had != has || !reflect.DeepEqual(x, y) {
			return key + "." + inner
		}
	}
	return ""
}

// Packages that run tests or make their assertions, with what belongs to them.
var runner = regexp.MustCompile(`^node_modules/(` +
	`jest(-.*)?|@jest/.*|mocha(-.*)?|ts-mocha|vitest|@vitest/.*|vite|vite-node|@vitejs/.*|cross-env|ava|tap|tape|@tapjs/.*|uvu|jasmine(-core)?|nyc|c8|` +
	`chai(-.*)?|expect|should|sinon|@sinonjs/.*|@testing-library/.*|jsdom|happy-dom|power-assert|` +
	`ts-node|tsx|esbuild|@swc/core|@swc/jest|@babel/core|babel-jest|ts-jest)$`)

// Lockfile names the first package at the root of package-lock.json that runs tests
// or asserts and that a candidate swaps or changes; nil if there is none. The rest
// of the lockfile is the candidate's to change.
func Lockfile(trusted, candidate []byte) *refusal.Refusal {
	was, is := runners(trusted), runners(candidate)
	for _, name := range sortedKeys(was, is) {
		if !reflect.DeepEqual(was[name], is[name]) && was[name] != nil {
			return changed(name, "the candidate changes the locked package that runs the tests or makes their assertions")
		}
	}
	return programs(packagesOf(trusted), packagesOf(candidate))
}

// imageProgram is a name under which npm's PATH must find a program of the image.
var imageProgram = set("node", "npm", "npx", "sh", "env", "python", "python3", "git")

// rootPackage is a package whose programs are on npm's PATH.
var rootPackage = regexp.MustCompile(`^node_modules/(@[^/]+/)?[^/]+$`)

// programs names the first program that a package of the candidate installs in the
// place of another's: a package gives its programs whatever names it likes.
func programs(was, is *boundedjson.Object) *refusal.Refusal {
	owners := map[string]map[string]bool{}
	for _, name := range was.Keys() {
		for _, program := range programsOf(was, name) {
			if owners[program] == nil {
				owners[program] = map[string]bool{}
			}
			owners[program][name] = true
		}
	}
	for _, name := range is.Keys() {
		for _, program := range programsOf(is, name) {
			if owner := owners[program]; !owner[name] && (owner != nil || imageProgram[program]) {
				return changed("node_modules/.bin/"+program, "the candidate adds a package whose program can take the place of one that the tests use")
			}
		}
	}
	return nil
}

func programsOf(packages *boundedjson.Object, name string) []string {
	value, _ := packages.Get(name)
	entry, ok := value.(*boundedjson.Object)
	if !ok || !rootPackage.MatchString(name) {
		return nil
	}
	value, _ = entry.Get("bin")
	switch bin := value.(type) {
	case *boundedjson.Object:
		return bin.Keys()
	case string: // one program, of the package's name
		return []string{path.Base(name)}
	}
	return nil
}

// packagesOf is a lockfile's list of packages; empty if it has none.
func packagesOf(lock []byte) *boundedjson.Object {
	if object, err := boundedjson.ParseObject(lock, lockLimits); err == nil {
		value, _ := object.Get("packages")
		if packages, ok := value.(*boundedjson.Object); ok {
			return packages
		}
	}
	return &boundedjson.Object{}
}

var lockLimits = boundedjson.Limits{Bytes: 8 << 20, Depth: 64, Values: 1_000_000}

// runners maps the installed runners to where their bytes come from.
func runners(lock []byte) map[string][]any {
	found := map[string][]any{}
	packages := packagesOf(lock)
	for _, key := range packages.Keys() {
		entry, _ := packages.Get(key)
		if fields, ok := entry.(*boundedjson.Object); ok && runner.MatchString(key) {
			integrity, _ := fields.Get("integrity")
			resolved, _ := fields.Get("resolved")
			found[key] = []any{integrity, resolved}
		}
	}
	return found
}

func sortedKeys(maps ...map[string][]any) []string {
	var keys []string
	for _, m := range maps {
		for key := range m {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
