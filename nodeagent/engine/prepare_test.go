package engine

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
	"github.com/ai-dossier/zt-operator/nodeagent/source"
)

// tested is a tree whose scripts.test is given, with mocha and jest in its lockfile.
func tested(script string) source.Tree {
	root := ecosystem.RootFiles{Content: map[string][]byte{}}
	add := func(name, content string) {
		root.Content[name] = []byte(content)
		root.Names = append(root.Names, ecosystem.Entry{Name: name, Type: ecosystem.EntryFile, Size: int64(len(content))})
	}
	add("package.json", fmt.Sprintf(`{"name":"x","engines":{"node":">=20"},"scripts":{"test":%q}}`, script))
	locked := ""
	for _, name := range []string{"jest", "mocha"} {
		locked += fmt.Sprintf(`,"node_modules/%s":{"version":"1.0.0","resolved":"https://registry.npmjs.org/%s/-/%s-1.0.0.tgz",`+
			`"integrity":"sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="}`, name, name, name)
	}
	add("package-lock.json", `{"lockfileVersion":3,"packages":{"":{"name":"x"}`+locked+`}}`)
	return source.Tree{Root: root}
}

func TestPrepareWantsOneRunnerForAllTrees(t *testing.T) {
	profile := v1alpha1.ZTProfileSpec{
		Runtimes: []v1alpha1.Runtime{{
			Name: "node-22", Language: v1alpha1.LanguageNode, Version: "22.23.5",
			Managers: []v1alpha1.Manager{{Name: v1alpha1.EcosystemNPM, Version: "10.9.9"}},
		}},
		Proxy: v1alpha1.ProxySpec{Mirrors: []v1alpha1.Mirror{{Ecosystem: v1alpha1.EcosystemNPM}}},
	}
	for _, c := range []struct {
		name, base, others string
		detail             v1alpha1.Detail
	}{
		{"mocha in all of them", "mocha", "mocha", ""},
		{"mocha, called differently", "mocha --exit", "c8 mocha", ""},
		{"mocha before, jest now", "mocha", "jest", v1alpha1.DetailNoTestRunner},
		{"Node's runner before, jest now", "node --test", "jest", v1alpha1.DetailNoTestRunner},
		{"a runner that arguments do not reach", "mocha | cat", "mocha | cat", v1alpha1.DetailNoTestRunner},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := &source.Source{Trees: map[v1alpha1.TreeName]source.Tree{
				v1alpha1.TreeBase: tested(c.base), v1alpha1.TreeRegressionTest: tested(c.others), v1alpha1.TreeCandidate: tested(c.others),
			}}
			prepared, err := Prepare(src, profile, []v1alpha1.TargetPath{"test/a.test.js"})
			var refused *ecosystem.Refusal
			switch {
			case c.detail == "":
				if err != nil || prepared.Detection.Runner != ecosystem.RunnerMocha {
					t.Errorf("got %+v, %v", prepared, err)
				}
			case !errors.As(err, &refused) || refused.Detail != c.detail || refused.Subject != "scripts.test":
				t.Errorf("got %v", err)
			}
		})
	}
}
