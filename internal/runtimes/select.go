package runtimes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

// Select returns the newest of the offered runtimes that carries the manager and
// satisfies every declaration. Its error is a *refusal.Refusal.
func Select(declarations []Declaration, manager v1alpha1.Ecosystem, offered []v1alpha1.Runtime) (v1alpha1.Runtime, error) {
	candidates, err := carrying(manager, offered)
	if err != nil {
		return v1alpha1.Runtime{}, err
	}
	needs, err := readAll(declarations)
	if err != nil {
		return v1alpha1.Runtime{}, err
	}
	if !slices.ContainsFunc(needs, func(n need) bool { return n.Target == Interpreter }) {
		return v1alpha1.Runtime{}, refusal.New(v1alpha1.DetailRuntimeUnspecified, "",
			"the repository does not say which runtime it needs; declare one: engines.node in package.json, or requires-python in pyproject.toml")
	}
	// Each need alone comes first: it names what to change, a conflict cannot.
	for _, n := range needs {
		if !slices.ContainsFunc(candidates, n.satisfiedBy) {
			return v1alpha1.Runtime{}, unsatisfied(manager, n, needs, candidates)
		}
	}
	for _, candidate := range candidates {
		if satisfiesAll(needs, candidate) {
			return candidate.runtime, nil
		}
	}
	// What manager comes with a runtime that the profile does not carry is not known.
	onManager := slices.ContainsFunc(needs, func(n need) bool { return n.Target == Manager })
	if err := notCarried(manager, needs, candidates); err != nil && !onManager {
		return v1alpha1.Runtime{}, err
	}
	return v1alpha1.Runtime{}, refusal.New(v1alpha1.DetailRuntimeConflict, conflicting(needs, candidates),
		fmt.Sprintf("each declaration has a runtime, but no one runtime satisfies all of them; the profile offers %s", describe(candidates)))
}

// candidate is an offered runtime and its manager.
type candidate struct {
	runtime     v1alpha1.Runtime
	interpreter version
	manager     partial
}

// carrying returns the runtimes with the manager, newest first.
func carrying(manager v1alpha1.Ecosystem, offered []v1alpha1.Runtime) ([]candidate, error) {
	var candidates []candidate
	for _, runtime := range offered {
		at := slices.IndexFunc(runtime.Managers, func(m v1alpha1.Manager) bool { return m.Name == manager })
		if at < 0 {
			continue
		}
		interpreter, err := parseVersion(runtime.Version)
		if err != nil {
			continue // The CRD admits X.Y.Z only; what it cannot have admitted is not offered.
		}
		carried, err := parsePartial(runtime.Managers[at].Version)
		if err != nil {
			continue
		}
		candidates = append(candidates, candidate{runtime, interpreter, carried})
	}
	if len(candidates) == 0 {
		return nil, refusal.New(v1alpha1.DetailEcosystemNotOffered, string(manager),
			fmt.Sprintf("no runtime of the profile carries %s", manager))
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		return cmp.Or(b.interpreter.compare(a.interpreter), strings.Compare(a.runtime.Name, b.runtime.Name))
	})
	return candidates, nil
}

func satisfiesAll(needs []need, c candidate) bool {
	return !slices.ContainsFunc(needs, func(n need) bool { return !n.satisfiedBy(c) })
}

// unsatisfied says which declaration has no runtime, and of which kind.
func unsatisfied(manager v1alpha1.Ecosystem, n need, needs []need, candidates []candidate) error {
	if n.Target == Manager {
		return refusal.New(v1alpha1.DetailManagerUnsupported, n.Source,
			fmt.Sprintf("no runtime of the profile carries the package manager version it asks for; the profile offers %s", describe(candidates)))
	}
	if err := notCarried(manager, needs, candidates); err != nil {
		return err
	}
	return refusal.New(v1alpha1.DetailRuntimeUnsupported, n.Source,
		fmt.Sprintf("no runtime of the profile has a version it admits, and none is substituted; the profile offers %s", describe(candidates)))
}

// conflicting names the first declaration without which some runtime would do.
func conflicting(needs []need, candidates []candidate) string {
	for i := range needs {
		others := slices.Delete(slices.Clone(needs), i, i+1)
		if slices.ContainsFunc(candidates, func(c candidate) bool { return satisfiesAll(others, c) }) {
			return needs[i].Source
		}
	}
	return ""
}

func describe(candidates []candidate) string {
	var names []string
	for _, c := range candidates {
		var managers []string
		for _, m := range c.runtime.Managers {
			managers = append(managers, string(m.Name)+" "+m.Version)
		}
		names = append(names, fmt.Sprintf("%s %s (%s)", c.runtime.Language, c.runtime.Version, strings.Join(managers, ", ")))
	}
	return strings.Join(names, "; ")
}
