package protect

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ai-dossier/zt-operator/internal/ecosystem/boundedtoml"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

// Bounds of TOML files, at least those of detection.
var tomlLimits = boundedtoml.Limits{Bytes: 8 << 20, Depth: 64, Values: 1_000_000}

// freeTables are the tables of pyproject.toml that a fix may change, freeTools those
// under tool: what is installed, and tools that run no test.
var (
	freeTables = set("project", "dependency-groups")
	freeTools  = set("uv", "ruff", "black", "isort", "mypy", "pyright", "flake8", "pylint")
)

// Pyproject names the first table of pyproject.toml by which a candidate changes what
// judges it; nil if there is none.
func Pyproject(trusted, candidate []byte) *refusal.Refusal {
	was, errWas := parseTOML(trusted)
	is, errIs := parseTOML(candidate)
	if errWas != nil || errIs != nil {
		return nil //nolint:nilerr // for detection to refuse
	}
	for _, key := range keysOf(was, is) {
		if key != "tool" && !freeTables[key] && differ(was[key], is[key]) {
			return changedTable(key)
		}
	}
	toolsWere, _ := was["tool"].(boundedtoml.Table)
	toolsAre, _ := is["tool"].(boundedtoml.Table)
	for _, key := range keysOf(toolsWere, toolsAre) {
		if !freeTools[key] && differ(toolsWere[key], toolsAre[key]) {
			return changedTable("tool." + key)
		}
	}
	return nil
}

// differ compares values as they are written: a NaN is equal to itself.
func differ(a, b any) bool { return fmt.Sprintf("%#v", a) != fmt.Sprintf("%#v", b) }

func changedTable(name string) *refusal.Refusal {
	return changed(name, "the candidate changes a table of pyproject.toml that can steer the tests")
}

// parseTOML takes an absent file for an empty one.
func parseTOML(data []byte) (boundedtoml.Table, error) {
	if data == nil {
		return boundedtoml.Table{}, nil
	}
	return boundedtoml.Parse(data, tomlLimits)
}

func keysOf(tables ...boundedtoml.Table) []string {
	var keys []string
	for _, table := range tables {
		for key := range table {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// pytestPackage is what runs the tests, and every plugin that pytest would load by
// itself.
var pytestPackage = regexp.MustCompile(`^(pytest([-_.].*)?|pluggy|iniconfig|.*[-_.]pytest)$`)

var requirement = regexp.MustCompile(`(?m)^[ \t]*([A-Za-z0-9][A-Za-z0-9._-]*)[ \t]*==[ \t]*([^ \t\r\n;\\\\#]+)`)

// Requirements names the first package of requirements.txt that runs tests and that a
// candidate adds, removes or pins to another version; nil if there is none.
func Requirements(trusted, candidate []byte) *refusal.Refusal {
	return samePackages("requirements.txt", pinned(trusted), pinned(candidate))
}

func pinned(file []byte) map[string]string {
	found := map[string]string{}
	for _, m := range requirement.FindAllSubmatch(file, -1) {
		if name := strings.ToLower(string(m[1])); pytestPackage.MatchString(name) {
			found[name] += string(m[2]) + " "
		}
	}
	return found
}

// UVLock is Requirements for uv.lock.
func UVLock(trusted, candidate []byte) *refusal.Refusal {
	return samePackages("uv.lock", locked(trusted), locked(candidate))
}

func locked(file []byte) map[string]string {
	found := map[string]string{}
	lock, err := parseTOML(file)
	if err != nil {
		return found
	}
	packages, _ := lock["package"].([]boundedtoml.Table)
	for _, entry := range packages {
		name, _ := entry["name"].(string)
		version, _ := entry["version"].(string)
		if name = strings.ToLower(name); pytestPackage.MatchString(name) {
			found[name] += version + " "
		}
	}
	return found
}

func samePackages(file string, was, is map[string]string) *refusal.Refusal {
	var names []string
	for _, packages := range []map[string]string{was, is} {
		for name := range packages {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if was[name] != is[name] {
			return changed(file+"/"+name, "the candidate changes a locked package that runs the tests, or that pytest loads by itself")
		}
	}
	return nil
}

// Contents compares what is in the root's files, by name; nil if the candidate leaves
// alone what judges it.
func Contents(trusted, candidate map[string][]byte) *refusal.Refusal {
	for _, check := range []struct {
		name    string
		compare func(trusted, candidate []byte) *refusal.Refusal
	}{
		{"package.json", Manifest}, {"package-lock.json", Lockfile},
		{"pyproject.toml", Pyproject}, {"requirements.txt", Requirements}, {"uv.lock", UVLock},
	} {
		if refused := check.compare(trusted[check.name], candidate[check.name]); refused != nil {
			return refused
		}
	}
	return nil
}
