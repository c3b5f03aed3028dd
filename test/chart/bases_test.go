package chart

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

const configDir = "../../config"

func TestTheKustomizeBasesListEveryFileTheyHave(t *testing.T) {
	for base, left := range map[string][]string{"crd": nil, "rbac": nil, "manager": nil, "samples": {"ztrun.yaml"}} {
		var kustomization struct{ Resources []string }
		readStrict(t, filepath.Join(base, "kustomization.yaml"), &kustomization)
		files, err := filepath.Glob(filepath.Join(configDir, base, "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, file := range files {
			if name := filepath.Base(file); name != "kustomization.yaml" && !slices.Contains(left, name) {
				want = append(want, name)
			}
		}
		slices.Sort(kustomization.Resources)
		if !slices.Equal(kustomization.Resources, want) || len(want) == 0 {
			t.Errorf("config/%s lists %q, and its files are %q", base, kustomization.Resources, want)
		}
	}
}

func TestTheSamplesAreWrittenInTheAPIsWords(t *testing.T) {
	for name, object := range map[string]any{
		"ztrun": &v1alpha1.ZTRun{}, "ztprofile": &v1alpha1.ZTProfile{}, "proxypolicy": &v1alpha1.ProxyPolicy{},
	} {
		readStrict(t, filepath.Join("samples", name+".yaml"), object)
	}
}

// readStrict decodes a file of config/ that has no unknown field.
func readStrict(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(configDir, file))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Errorf("config/%s: %v", file, err)
	}
}
