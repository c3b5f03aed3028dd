package runtimes

import (
	"fmt"
	"slices"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

// known are the lines of runtimes that a profile can be given, newest first. A line
// stands for its newest release, whatever that is today.
var known = map[v1alpha1.Language][]string{
	v1alpha1.LanguageNode:   {"24", "22", "20"},
	v1alpha1.LanguagePython: {"3.13", "3.12", "3.11"},
}

var languageOf = map[v1alpha1.Ecosystem]v1alpha1.Language{
	v1alpha1.EcosystemNPM: v1alpha1.LanguageNode,
	v1alpha1.EcosystemPip: v1alpha1.LanguagePython,
	v1alpha1.EcosystemUV:  v1alpha1.LanguagePython,
}

// notCarried tells a repository that asks for a runtime the profile lacks from one that
// asks for what there is not: it returns nil for the latter. It selects nothing.
func notCarried(manager v1alpha1.Ecosystem, needs []need, candidates []candidate) error {
	language := languageOf[manager]
	for _, text := range known[language] {
		line, err := parsePartial(text)
		if err != nil || slices.ContainsFunc(candidates, func(c candidate) bool { return line.admits(c.interpreter) }) {
			continue
		}
		newest := line.highest()
		if slices.ContainsFunc(needs, func(n need) bool { return n.Target == Interpreter && !n.admits(newest) }) {
			continue
		}
		name := string(language) + "-" + text
		return refusal.New(v1alpha1.DetailProfileNotBaked, name,
			fmt.Sprintf("the repository asks for a runtime such as %s, which the profile does not carry; it carries %s", name, describe(candidates)))
	}
	return nil
}

// Baked refuses a selected runtime that a node has no disk of: another is never taken
// in its place.
func Baked(selected v1alpha1.Runtime, has bool) error {
	if has {
		return nil
	}
	return refusal.New(v1alpha1.DetailProfileNotBaked, selected.Name,
		fmt.Sprintf("runtime %s was selected, and this node has not baked it", selected.Name))
}
