package pypi

import (
	"fmt"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/boundedtoml"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/model"
	"github.com/ai-dossier/zt-operator/internal/refusal"
	"github.com/ai-dossier/zt-operator/internal/runtimes"
)

// Root files that pip and uv projects share.
const (
	Manifest    = "pyproject.toml"
	VersionFile = ".python-version"
)

// Bounds of these files in bytes.
const (
	MaxManifest    = 1 << 20
	MaxVersionFile = 4 << 10
)

// ReadManifest reads pyproject.toml; nil without one.
func ReadManifest(root model.RootFiles) (boundedtoml.Table, error) {
	if !root.Has(Manifest) {
		return nil, nil
	}
	return ReadTOML(root, Manifest, v1alpha1.DetailInvalidManifest,
		boundedtoml.Limits{Bytes: MaxManifest, Depth: 16, Values: 50_000})
}

// ReadTOML reads a root file; what is not right with it is refused with the detail.
func ReadTOML(root model.RootFiles, name string, detail v1alpha1.Detail, limits boundedtoml.Limits) (boundedtoml.Table, error) {
	data, ok := root.Regular(name)
	if !ok {
		return nil, refusal.New(detail, name, fmt.Sprintf("it is not a regular file of at most %d bytes", limits.Bytes))
	}
	table, err := boundedtoml.Parse(data, limits)
	if err != nil {
		return nil, refusal.New(detail, name, err.Error())
	}
	return table, nil
}

// Declared returns what pyproject.toml and .python-version say of the interpreter.
func Declared(root model.RootFiles, manifest boundedtoml.Table) ([]runtimes.Declaration, error) {
	var all []runtimes.Declaration
	if value, ok := manifest["project"]; ok {
		project, ok := value.(boundedtoml.Table)
		if !ok {
			return nil, refusal.New(v1alpha1.DetailInvalidManifest, "project", "it is not a table")
		}
		found, err := Required(project, Manifest+"/requires-python")
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if !root.Has(VersionFile) {
		return all, nil
	}
	data, ok := root.Regular(VersionFile)
	if !ok {
		return nil, refusal.New(v1alpha1.DetailRuntimeDeclaration, VersionFile,
			fmt.Sprintf("it is not a regular file of at most %d bytes", MaxVersionFile))
	}
	return append(all, runtimes.Declaration{
		Source: VersionFile, Target: runtimes.Interpreter, Syntax: runtimes.PythonVersion, Value: string(data),
	}), nil
}

// Required returns the declaration requires-python of a table, if it has one.
func Required(table boundedtoml.Table, source string) ([]runtimes.Declaration, error) {
	value, ok := table["requires-python"]
	if !ok {
		return nil, nil
	}
	text, ok := value.(string)
	if !ok {
		return nil, refusal.New(v1alpha1.DetailRuntimeDeclaration, source, "it is not a string")
	}
	return []runtimes.Declaration{{
		Source: source, Target: runtimes.Interpreter, Syntax: runtimes.PEP440, Value: text,
	}}, nil
}
