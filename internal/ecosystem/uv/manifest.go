package uv

import (
	"slices"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/boundedtoml"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/pypi"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

// manifest is what pyproject.toml says.
type manifest struct {
	table  boundedtoml.Table
	groups groups
}

// groups are the dependency groups that uv takes without being asked.
type groups struct {
	all   bool
	names []string
}

func (g groups) include(name string) bool { return g.all || slices.Contains(g.names, name) }

// admitted are the keys of [tool.uv] that cannot redirect what is fetched.
var admitted = map[string]bool{"package": true, "default-groups": true}

func readManifest(table boundedtoml.Table) (manifest, error) {
	m := manifest{table: table, groups: groups{names: []string{"dev"}}}
	settings, err := settings(table)
	if err != nil {
		return manifest{}, err
	}
	// In the order of their names: which key is named must not depend on chance.
	for _, key := range sortedKeys(settings) {
		if !admitted[key] {
			return manifest{}, refusal.New(v1alpha1.DetailUnsupportedConfig, "tool.uv."+key,
				"the only keys that [tool.uv] may have are package and default-groups")
		}
	}
	if err := requireVirtual(table, settings); err != nil {
		return manifest{}, err
	}
	if value, ok := settings["default-groups"]; ok {
		if m.groups, err = readGroups(value); err != nil {
			return manifest{}, err
		}
	}
	return m, nil
}

func settings(table boundedtoml.Table) (boundedtoml.Table, error) {
	value, ok := table["tool"]
	if !ok {
		return nil, nil
	}
	tool, ok := value.(boundedtoml.Table)
	if !ok {
		return nil, refusal.New(v1alpha1.DetailInvalidManifest, "tool", "it is not a table")
	}
	value, ok = tool["uv"]
	if !ok {
		return nil, nil
	}
	uv, ok := value.(boundedtoml.Table)
	if !ok {
		return nil, refusal.New(v1alpha1.DetailInvalidManifest, "tool.uv", "it is not a table")
	}
	return uv, nil
}

// requireVirtual refuses a project that uv would build. Without the key, uv takes a
// project for virtual if it names no build system.
func requireVirtual(table, settings boundedtoml.Table) error {
	value, declared := settings["package"]
	builds, isBool := value.(bool)
	if declared && !isBool {
		return refusal.New(v1alpha1.DetailInvalidManifest, "tool.uv.package", "it is not a boolean")
	}
	if _, hasBuildSystem := table["build-system"]; builds || !declared && hasBuildSystem {
		return projectBuild("tool.uv.package")
	}
	return nil
}

func projectBuild(subject string) error {
	return refusal.New(v1alpha1.DetailProjectBuildRequired, subject,
		"the project installs itself, so its build backend would run while the mirror is in reach; [tool.uv] package = false makes it virtual")
}

func readGroups(value any) (groups, error) {
	invalid := refusal.New(v1alpha1.DetailInvalidManifest, "tool.uv.default-groups", `it is neither a list of names nor "all"`)
	if value == "all" {
		return groups{all: true}, nil
	}
	list, ok := value.([]any)
	if !ok {
		return groups{}, invalid
	}
	var g groups
	for _, element := range list {
		text, _ := element.(string)
		name := pypi.NormalName(text)
		if name == "" {
			return groups{}, invalid
		}
		g.names = append(g.names, name)
	}
	return g, nil
}
