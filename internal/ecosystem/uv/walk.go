package uv

import (
	"errors"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/boundedtoml"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/pypi"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

// walk follows the lockfile's edges that hold in one environment.
type walk struct {
	lock        *lock
	environment pypi.Environment
	// reached has the release of each project that would be installed.
	reached map[string]*locked
	// order of reached.
	order []string
	// visited has the releases and extras whose edges were followed.
	visited map[string]bool
	pending []visit
}

// visit is a list of edges to follow.
type visit struct {
	owner string
	table boundedtoml.Table
	key   string
}

// project walks from the project's own dependencies and its default groups.
func (w *walk) project(groups groups) error {
	w.pending = []visit{{"the project", w.lock.project, "dependencies"}}
	development, err := tableOf(w.lock.project, "dev-dependencies")
	if err != nil {
		return invalidLock("dev-dependencies", "it is not a table")
	}
	for _, name := range sortedKeys(development) {
		if groups.include(pypi.NormalName(name)) {
			w.pending = append(w.pending, visit{"the project", development, name})
		}
	}
	for len(w.pending) > 0 {
		next := w.pending[0]
		w.pending = w.pending[1:]
		edges, err := listOf(next.table, next.key)
		if err != nil {
			return invalidLock(next.owner, "its dependencies are not an array of tables")
		}
		for _, edge := range edges {
			if err := w.follow(edge); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *walk) follow(edge boundedtoml.Table) error {
	text, _ := edge["name"].(string)
	name := pypi.NormalName(text)
	holds, err := w.holds(edge)
	if err != nil {
		return refusal.New(v1alpha1.DetailUnsupportedMarker, name, err.Error())
	}
	if !holds {
		return nil
	}
	target, err := w.target(name, edge)
	if err != nil {
		return err
	}
	if before := w.reached[name]; before != nil && before != target {
		return invalidLock(name, "two versions of it would be installed for the selected runtime")
	}
	if w.reached[name] == nil {
		w.reached[name] = target
		w.order = append(w.order, name)
	}
	w.visit(target, "", visit{name, target.table, "dependencies"})
	extras, _ := edge["extra"].([]any)
	optional, err := tableOf(target.table, "optional-dependencies")
	if err != nil {
		return invalidLock(name, "its optional-dependencies are not a table")
	}
	for _, value := range extras {
		if extra, ok := value.(string); ok {
			w.visit(target, extra, visit{name, optional, extra})
		}
	}
	return nil
}

func (w *walk) visit(target *locked, extra string, v visit) {
	if key := target.name + " " + extra; !w.visited[key] {
		w.visited[key] = true
		w.pending = append(w.pending, v)
	}
}

func (w *walk) holds(edge boundedtoml.Table) (bool, error) {
	value, ok := edge["marker"]
	if !ok {
		return true, nil
	}
	text, ok := value.(string)
	// An extra in an edge's marker stands for conflicts, which [tool.uv] may not declare.
	if !ok || strings.Contains(text, "extra") {
		return false, pypi.ErrMarker
	}
	marker, err := pypi.ParseMarker(text)
	return err == nil && marker.Holds(w.environment), err
}

// target returns the release that an edge means: the only one of that name, or the
// one whose version the edge gives.
func (w *walk) target(name string, edge boundedtoml.Table) (*locked, error) {
	wanted, given := edge["version"].(string)
	var found []*locked
	for _, p := range w.lock.named[name] {
		if !given || p.version == wanted {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		return nil, invalidLock(name, "a dependency on it has no one entry of uv.lock")
	}
	return found[0], nil
}

// wheels refuses a package that would be installed and has no wheel for the
// environment.
func (w *walk) wheels() error {
	for _, name := range w.order {
		if !w.reached[name].hasWheelFor(w.environment) {
			return refusal.New(v1alpha1.DetailBinaryUnavailable, name,
				"none of its locked wheels is for the selected runtime on Linux x86_64, and nothing is built")
		}
	}
	return nil
}

func (p *locked) hasWheelFor(environment pypi.Environment) bool {
	for _, a := range p.artifacts {
		if a.file.Wheel && environment.Supports(a.file.Tags) {
			return true
		}
	}
	return false
}

var errShape = errors.New("it has another shape")

// listOf returns an array of tables, however it is written; none is empty.
func listOf(table boundedtoml.Table, key string) ([]boundedtoml.Table, error) {
	value, ok := table[key]
	if !ok {
		return nil, nil
	}
	if tables, ok := value.([]boundedtoml.Table); ok {
		return tables, nil
	}
	elements, ok := value.([]any)
	if !ok {
		return nil, errShape
	}
	var tables []boundedtoml.Table
	for _, element := range elements {
		table, ok := element.(boundedtoml.Table)
		if !ok {
			return nil, errShape
		}
		tables = append(tables, table)
	}
	return tables, nil
}

func tableOf(table boundedtoml.Table, key string) (boundedtoml.Table, error) {
	value, ok := table[key]
	if !ok {
		return nil, nil
	}
	found, ok := value.(boundedtoml.Table)
	if !ok {
		return nil, errShape
	}
	return found, nil
}
