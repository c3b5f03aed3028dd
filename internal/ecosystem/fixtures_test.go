package ecosystem

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/runtimes"
)

// readRoot makes a root of a folder on disk, as the source reader does of a tree.
func readRoot(t *testing.T, dir string) RootFiles {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := RootFiles{Content: map[string][]byte{}}
	for _, entry := range entries {
		e := Entry{Name: entry.Name(), Type: EntryFile}
		if entry.IsDir() {
			e.Type = EntryDirectory
		}
		r.Names = append(r.Names, e)
		if WantedFiles()[e.Name] == 0 {
			continue
		}
		if r.Content[e.Name], err = os.ReadFile(filepath.Join(dir, e.Name)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestTheFixtureOfNPMIsSupported(t *testing.T) {
	detection, err := Detect(readRoot(t, "../../fixtures/ecosystem/npm/base"))
	if err != nil {
		t.Fatal(err)
	}
	if detection.Ecosystem != v1alpha1.EcosystemNPM || detection.Packages < 5 {
		t.Errorf("got %+v", detection)
	}
	runtime := v1alpha1.Runtime{
		Name: "node-22", Language: v1alpha1.LanguageNode, Version: "22.23.5",
		Managers: []v1alpha1.Manager{{Name: v1alpha1.EcosystemNPM, Version: "10.9.3"}},
	}
	if got, err := runtimes.Select(detection.Declarations, detection.Ecosystem, []v1alpha1.Runtime{runtime}); err != nil || got.Name != "node-22" {
		t.Errorf("got %q, %v", got.Name, err)
	}
}
