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

// worker makes a runtime as profiles have it.
func worker(name string, language v1alpha1.Language, version string, managers ...v1alpha1.Manager) v1alpha1.Runtime {
	return v1alpha1.Runtime{Name: name, Language: language, Version: version, Managers: managers}
}

func profile() []v1alpha1.Runtime {
	npm := v1alpha1.Manager{Name: v1alpha1.EcosystemNPM, Version: "10.9.9"}
	pip := v1alpha1.Manager{Name: v1alpha1.EcosystemPip, Version: "26.3"}
	uv := v1alpha1.Manager{Name: v1alpha1.EcosystemUV, Version: "0.13.9"}
	return []v1alpha1.Runtime{
		worker("node-20", v1alpha1.LanguageNode, "20.20.4", npm), worker("node-22", v1alpha1.LanguageNode, "22.23.5", npm),
		worker("python-3.11", v1alpha1.LanguagePython, "3.11.2", pip, uv), worker("python-3.13", v1alpha1.LanguagePython, "3.13.5", pip, uv),
	}
}

func TestTheFixturesAreSupported(t *testing.T) {
	for eco, want := range map[v1alpha1.Ecosystem]string{
		v1alpha1.EcosystemNPM: "node-22", v1alpha1.EcosystemPip: "python-3.13", v1alpha1.EcosystemUV: "python-3.13",
	} {
		t.Run(string(eco), func(t *testing.T) {
			root := readRoot(t, "../../fixtures/ecosystem/"+string(eco)+"/base")
			detection, err := Detect(root)
			if err != nil {
				t.Fatal(err)
			}
			if detection.Ecosystem != eco || detection.Packages < 5 {
				t.Errorf("got %+v", detection)
			}
			runtime, err := runtimes.Select(detection.Declarations, eco, profile())
			if err != nil || runtime.Name != want {
				t.Fatalf("got %q, %v", runtime.Name, err)
			}
			for _, runtime := range profile() {
				if runtime.Managers[0].Name == v1alpha1.EcosystemNPM {
					continue
				}
				if err := Fits(root, detection, runtime); err != nil {
					t.Errorf("%s: %v", runtime.Name, err)
				}
			}
			artifacts, err := Artifacts(root, detection)
			if err != nil || len(artifacts) < detection.Packages {
				t.Errorf("%d artifacts of %d packages: %v", len(artifacts), detection.Packages, err)
			}
		})
	}
}
