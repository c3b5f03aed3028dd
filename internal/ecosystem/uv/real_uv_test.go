package uv

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/ecosystem/ecotest"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/model"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/pypi"
	"github.com/ai-dossier/zt-operator/internal/testneeds"
)

// TestWalksAsUVExports compares what Fits reaches with what the plan's own export has
// for the same interpreter.
func TestWalksAsUVExports(t *testing.T) {
	uv := testneeds.Tool(t, "uv")
	fixture := map[string]string{}
	for _, name := range []string{"pyproject.toml", Lockfile} {
		data, err := os.ReadFile("../../../fixtures/ecosystem/uv/base/" + name)
		if err != nil {
			t.Fatal(err)
		}
		fixture[name] = string(data)
	}
	roots := map[string]model.RootFiles{
		"the fixture":      ecotest.Root(fixture),
		"a small tree":     tree(t, nil, nil),
		"a default group":  tree(t, []string{"dev = [", "docs = [", "package = false", "package = false\ndefault-groups = ['docs']"}, []string{"dev = [\n", "docs = [\n"}),
		"no groups":        tree(t, []string{"package = false", "package = false\ndefault-groups = []"}, nil),
		"another group":    tree(t, []string{"dev = [", "docs = ["}, []string{"dev = [\n", "docs = [\n"}),
		"an implicit app":  tree(t, []string{"[tool.uv]\npackage = false\n", ""}, nil),
		"a marker with or": tree(t, nil, []string{"sys_platform == 'win32'", "sys_platform == 'win32' or (python_full_version >= '3.12' and os_name == 'posix')"}),
	}
	for name, root := range roots {
		t.Run(name, func(t *testing.T) {
			all := exported(t, uv, root)
			for _, interpreter := range []string{"3.11.2", "3.13.5"} {
				environment, err := pypi.EnvironmentOf(interpreter)
				if err != nil {
					t.Fatal(err)
				}
				var want []string
				for specifier, marker := range all {
					if marker.Holds(environment) {
						want = append(want, specifier)
					}
				}
				got := reachedIn(t, root, environment)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("%s: got %v, uv exports %v", interpreter, got, want)
				}
			}
		})
	}
}

func reachedIn(t *testing.T, root model.RootFiles, environment pypi.Environment) []string {
	t.Helper()
	manifest, lock, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	w := &walk{lock: lock, environment: environment, reached: map[string]*locked{}, visited: map[string]bool{}}
	if err := w.project(manifest.groups); err != nil {
		t.Fatal(err)
	}
	var all []string
	for name, p := range w.reached {
		all = append(all, name+"=="+p.version)
	}
	slices.Sort(all)
	return all
}

// exported returns the exported releases and their markers.
func exported(t *testing.T, uv string, root model.RootFiles) map[string]pypi.Marker {
	t.Helper()
	cmd := exec.Command(uv, "export", "--frozen", "--offline", "--no-config", "--no-python-downloads", "--python", "python3",
		"--format", "requirements.txt", "--no-emit-project", "--no-header", "--no-hashes", "--no-annotate")
	cmd.Dir = ecotest.Folder(t, root)
	all := map[string]pypi.Marker{}
	for line := range strings.Lines(string(ecotest.Output(t, cmd))) {
		specifier, text, marked := strings.Cut(strings.TrimSpace(line), " ; ")
		if specifier == "" {
			continue
		}
		var marker pypi.Marker
		if marked {
			var err error
			if marker, err = pypi.ParseMarker(text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		all[specifier] = marker
	}
	return all
}
