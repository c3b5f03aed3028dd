package runtimes

import (
	"errors"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

// pythons are a profile's runtimes for Python, and one that Python never gets.
var pythons = []v1alpha1.Runtime{
	python("python-3.11", "3.11.2"), python("python-3.13", "3.13.5"), python("python-3.12", "3.12.9"),
	{Name: "node-22", Language: v1alpha1.LanguageNode, Version: "22.23.5", Managers: []v1alpha1.Manager{{Name: v1alpha1.EcosystemNPM, Version: "10.9.9"}}},
}

func python(name, version string) v1alpha1.Runtime {
	return v1alpha1.Runtime{Name: name, Language: v1alpha1.LanguagePython, Version: version, Managers: []v1alpha1.Manager{
		{Name: v1alpha1.EcosystemPip, Version: "26.3"}, {Name: v1alpha1.EcosystemUV, Version: "0.13.9"},
	}}
}

func requires(value string) Declaration {
	return Declaration{Source: "pyproject.toml/requires-python", Target: Interpreter, Syntax: PEP440, Value: value}
}

func versionFile(value string) Declaration {
	return Declaration{Source: ".python-version", Target: Interpreter, Syntax: PythonVersion, Value: value}
}

func TestSelectPython(t *testing.T) {
	manager := func(value string) Declaration {
		return Declaration{Source: "uv", Target: Manager, Syntax: PEP440, Value: value}
	}
	cases := []struct {
		name         string
		declarations []Declaration
		want         string
		detail       v1alpha1.Detail
		subject      string
	}{
		{"the newest that satisfies", []Declaration{requires(">=3.11")}, "python-3.13", "", ""},
		{"an upper bound", []Declaration{requires(">=3.11,<3.13")}, "python-3.12", "", ""},
		{"a wildcard", []Declaration{requires("==3.11.*")}, "python-3.11", "", ""},
		{"a compatible release", []Declaration{requires("~=3.11")}, "python-3.13", "", ""},
		{"a compatible patch release", []Declaration{requires("~=3.11.0")}, "python-3.11", "", ""},
		{"a version left out", []Declaration{requires(">=3.11,!=3.13.*")}, "python-3.12", "", ""},
		{"the version file of a line", []Declaration{requires(">=3.11"), versionFile("3.12\n")}, "python-3.12", "", ""},
		{"the version file of a release", []Declaration{versionFile("# pinned\n3.11.2\n")}, "python-3.11", "", ""},
		{"the manager that the plan needs", []Declaration{requires(">=3.11"), manager(">=0.7")}, "python-3.13", "", ""},
		{"another patch release is not substituted", []Declaration{versionFile("3.13.1")}, "", v1alpha1.DetailRuntimeUnsupported, ".python-version"},
		{"an exact version that is short", []Declaration{requires("==3.13")}, "", v1alpha1.DetailRuntimeUnsupported, "pyproject.toml/requires-python"},
		{"a version that is too new", []Declaration{requires(">=3.14")}, "", v1alpha1.DetailRuntimeUnsupported, "pyproject.toml/requires-python"},
		{"declarations that exclude each other", []Declaration{requires(">=3.13"), versionFile("3.11")}, "", v1alpha1.DetailRuntimeConflict, "pyproject.toml/requires-python"},
		{"nothing declared", []Declaration{manager(">=0.7")}, "", v1alpha1.DetailRuntimeUnspecified, ""},
		{"a manager that is too old", []Declaration{requires(">=3.11"), manager(">=0.14")}, "", v1alpha1.DetailManagerUnsupported, "uv"},
		{"a pre-release", []Declaration{requires(">=3.11rc1")}, "", v1alpha1.DetailRuntimeDeclaration, "pyproject.toml/requires-python"},
		{"an empty specifier", []Declaration{requires("")}, "", v1alpha1.DetailRuntimeDeclaration, "pyproject.toml/requires-python"},
		{"a caret", []Declaration{requires("^3.11")}, "", v1alpha1.DetailRuntimeDeclaration, "pyproject.toml/requires-python"},
		{"another implementation", []Declaration{versionFile("pypy3.11-7.3.20")}, "", v1alpha1.DetailRuntimeDeclaration, ".python-version"},
		{"a development version", []Declaration{versionFile("3.13-dev")}, "", v1alpha1.DetailRuntimeDeclaration, ".python-version"},
		{"several versions", []Declaration{versionFile("3.13\n3.12\n")}, "", v1alpha1.DetailRuntimeDeclaration, ".python-version"},
		{"an empty version file", []Declaration{versionFile("\n")}, "", v1alpha1.DetailRuntimeDeclaration, ".python-version"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Select(c.declarations, v1alpha1.EcosystemUV, pythons)
			if c.detail == "" {
				if err != nil || got.Name != c.want {
					t.Errorf("got %q, %v", got.Name, err)
				}
				return
			}
			var refused *refusal.Refusal
			if !errors.As(err, &refused) || refused.Detail != c.detail || refused.Subject != c.subject {
				t.Errorf("got %q, %v; want %s (%s)", got.Name, err, c.detail, c.subject)
			}
		})
	}
}

func TestSelectNodeLines(t *testing.T) {
	var offered []v1alpha1.Runtime
	for name, version := range map[string]string{"node-20": "20.20.4", "node-22": "22.23.5", "node-24": "24.15.0"} {
		offered = append(offered, v1alpha1.Runtime{Name: name, Language: v1alpha1.LanguageNode, Version: version,
			Managers: []v1alpha1.Manager{{Name: v1alpha1.EcosystemNPM, Version: "10.9.9"}}})
	}
	for value, want := range map[string]string{">=20": "node-24", "^22": "node-22", "20.x": "node-20", "lts/krypton": "node-24", "lts/iron": "node-20", "v22\n": "node-22"} {
		syntax := NPMRange
		if value[0] == 'l' || value[0] == 'v' {
			syntax = NodeVersion
		}
		got, err := Select([]Declaration{{Source: "x", Target: Interpreter, Syntax: syntax, Value: value}}, v1alpha1.EcosystemNPM, offered)
		if err != nil || got.Name != want {
			t.Errorf("%s: got %q, %v; want %s", value, got.Name, err, want)
		}
	}
}
