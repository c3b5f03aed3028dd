package ecosystem

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/runtimes"
)

// projectCase is a public project, cut down: see testdata/README.md.
type projectCase struct {
	Project, Folder, Commit string
	Names                   []string
	Files                   map[string]string
	Want                    struct {
		Ecosystem v1alpha1.Ecosystem
		Detail    v1alpha1.Detail
		Subject   string
		Packages  int
	}
}

func (c projectCase) root() RootFiles {
	r := RootFiles{Content: map[string][]byte{}}
	for _, name := range c.Names {
		r.Names = append(r.Names, Entry{Name: name, Type: EntryFile})
		if content, ok := c.Files[name]; ok {
			r.Content[name] = []byte(content)
		}
	}
	return r
}

func readProjects(t *testing.T) []projectCase {
	t.Helper()
	data, err := os.ReadFile("testdata/projects.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []projectCase
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 40 {
		t.Fatalf("only %d projects", len(all))
	}
	return all
}

func TestPublicProjects(t *testing.T) {
	python := profile()[3]
	for _, c := range readProjects(t) {
		t.Run(c.Project+" "+c.Folder, func(t *testing.T) {
			detection, err := Detect(c.root())
			if err == nil {
				err = Fits(c.root(), detection, python)
			}
			if c.Want.Detail == "" {
				if err != nil || detection.Ecosystem != c.Want.Ecosystem || detection.Packages != c.Want.Packages {
					t.Errorf("got %s with %d packages, %v; want %s with %d", detection.Ecosystem, detection.Packages, err, c.Want.Ecosystem, c.Want.Packages)
				}
				if _, err := Artifacts(c.root(), detection); err != nil {
					t.Error(err)
				}
				if len(detection.Declarations) > 0 {
					if _, err := runtimes.Select(detection.Declarations, detection.Ecosystem, profile()); err != nil {
						t.Logf("no runtime: %v", err)
					}
				}
				return
			}
			var refused *Refusal
			if !errors.As(err, &refused) || refused.Detail != c.Want.Detail || refused.Subject != c.Want.Subject {
				t.Errorf("got %v, want %s (%s)", err, c.Want.Detail, c.Want.Subject)
			}
		})
	}
}
