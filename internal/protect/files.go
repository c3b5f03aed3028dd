package protect

import (
	"path"
	"slices"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

// File is one file of a tree's listing.
type File struct {
	Path string
	// ID is the blob's id.
	ID string
	// Mode is git's, such as 100644.
	Mode string
	// Size in bytes.
	Size int64
}

// Rules say what is protected in one trusted tree.
type Rules struct {
	named   map[string]bool // and there
	words   map[string]bool // of the test command and the runner's configuration, there or not
	trusted map[string]File
}

// NewRules takes the listing of the trusted tree, the content of its package.json and of
// the Configs at its root as far as there are any, and the proof's targets.
func NewRules(trusted []File, root map[string][]byte, targets []string) *Rules {
	r := &Rules{named: set(targets...), words: map[string]bool{}, trusted: byPath(trusted)}
	for _, name := range append(scriptWords(root["package.json"]), configWords(root)...) {
		r.words[name] = true
		if _, ok := r.trusted[name]; ok {
			r.named[name] = true
		}
	}
	return r
}

// Protected reports whether a file of the trusted tree may not be changed.
func (r *Rules) Protected(name string) bool {
	return r.named[name] || isTest(name) || isRunnerConfig(name) || isHijack(name)
}

// Files returns the protected files of the trusted tree: first those that decide
// most, the smaller ones first.
func (r *Rules) Files() []File {
	var files []File
	for name, file := range r.trusted {
		if r.Protected(name) {
			files = append(files, file)
		}
	}
	weight := func(f File) int64 {
		if r.named[f.Path] || isRunnerConfig(f.Path) {
			return -1
		}
		return f.Size
	}
	slices.SortFunc(files, func(a, b File) int {
		if x, y := weight(a), weight(b); x != y {
			return int(max(-1, min(1, x-y)))
		}
		return strings.Compare(a.Path, b.Path)
	})
	return files
}

// Check names the first path by which a candidate changes what judges it; nil if
// there is none. New tests are no such change.
func (r *Rules) Check(candidate []File) *refusal.Refusal {
	now := byPath(candidate)
	for _, name := range sorted(r.trusted) {
		was := r.trusted[name]
		is, exists := now[name]
		switch {
		case !r.Protected(name) || exists && is.ID == was.ID && is.Mode == was.Mode:
		case !exists:
			return changed(name, "the candidate removes a file that judges it: tests, runner configuration and what the test command runs stay as they are in the regressionTest tree")
		default:
			return changed(name, "the candidate changes a file that judges it: tests, runner configuration and what the test command runs stay as they are in the regressionTest tree")
		}
	}
	governed := r.governed()
	for _, name := range sorted(now) {
		if _, existed := r.trusted[name]; !existed && r.interferes(name, governed) {
			return changed(name, "the candidate adds a file that changes how the existing tests run")
		}
	}
	return nil
}

// interferes reports whether a new file has power over existing tests.
func (r *Rules) interferes(name string, governed map[string]bool) bool {
	folder, base := path.Split(name)
	folder = strings.TrimSuffix(folder, "/")
	switch {
	case isRunnerConfig(name), isHijack(name), r.words[name]:
		return true
	case base == "package.json" && governed[folder], slices.Contains(strings.Split(name, "/"), "__mocks__"):
		return true
	case r.shadows(name):
		return true
	}
	// pytest puts a test's folder first on the path: any other module there would
	// stand in for one of that name.
	return isTest(name) && strings.HasSuffix(base, ".py") && !testName.MatchString(base) && base != "__init__.py"
}

// shadows reports whether an import without an extension could find a new file in
// the place of an existing test or helper.
func (r *Rules) shadows(name string) bool {
	if !script.MatchString(name) && !isTest(name) {
		return false
	}
	for _, ending := range []string{"", ".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx", ".json", ".node", ".py",
		"/index.js", "/index.cjs", "/index.ts", "/index.json", "/__init__.py"} {
		other := stem(name) + ending
		if _, exists := r.trusted[other]; exists && r.Protected(other) {
			return true
		}
	}
	return false
}

// governed are the folders whose package.json applies to a protected file.
func (r *Rules) governed() map[string]bool {
	folders := map[string]bool{}
	for name := range r.trusted {
		if !r.Protected(name) {
			continue
		}
		for folder := path.Dir(name); folder != "." && !folders[folder]; folder = path.Dir(folder) {
			folders[folder] = true
		}
	}
	return folders
}

// changed names a path, a field, or what is around one that may not be shown.
func changed(subject, message string) *refusal.Refusal {
	for refusal.Subject(subject) == "" && strings.ContainsAny(subject, "/.") {
		subject = subject[:strings.LastIndexAny(subject, "/.")]
	}
	return refusal.New(v1alpha1.DetailProtectedPathChanged, subject, message)
}

func byPath(files []File) map[string]File {
	m := make(map[string]File, len(files))
	for _, f := range files {
		m[f.Path] = f
	}
	return m
}

func sorted(files map[string]File) []string {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
