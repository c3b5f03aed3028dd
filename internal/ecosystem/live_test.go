package ecosystem

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/pypi"
	"github.com/ai-dossier/zt-operator/internal/junit"
	"github.com/ai-dossier/zt-operator/internal/testneeds"
)

// world is a machine on which a plan's real commands run: paths of the worker are
// moved into a folder, and the mirror has one wheel.
type world struct {
	t        *testing.T
	dir      string
	tree     string
	mirror   *httptest.Server
	requests atomic.Int64
	moved    *strings.Replacer
}

// pytestWheel is a pytest that knows just enough: it runs the given file, or all, and
// reports.
func pytestWheel(t *testing.T) []byte {
	const main = `
import os, pathlib, runpy, shlex, sys

def main():
    report = next(o.split("=", 1)[1] for o in shlex.split(os.environ["PYTEST_ADDOPTS"]) if o.startswith("--junitxml="))
    failures = 0
    files = sys.argv[1:] or sorted(map(str, pathlib.Path("tests").glob("test_*.py")))
    for file in files:
        try:
            runpy.run_path(file)
        except AssertionError:
            failures += 1
    cases = "".join(f'<testcase name="{f}">' + ('<failure/>' if failures else '') + '</testcase>' for f in files)
    pathlib.Path(report).write_text(f'<testsuites><testsuite name="pytest" tests="{len(files)}">{cases}</testsuite></testsuites>')
    return 1 if failures else 0

if __name__ == "__main__":
    sys.exit(main())
`
	files := []struct{ name, content string }{
		{"pytest/__init__.py", ""},
		{"pytest/__main__.py", main},
		{"pytest-9.2.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: pytest\nVersion: 9.2.0\n"},
		{"pytest-9.2.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{"pytest-9.2.0.dist-info/entry_points.txt", "[console_scripts]\npytest = pytest.__main__:main\n"},
		{"pytest-9.2.0.dist-info/RECORD", "pytest/__init__.py,,\npytest/__main__.py,,\npytest-9.2.0.dist-info/METADATA,,\n" +
			"pytest-9.2.0.dist-info/WHEEL,,\npytest-9.2.0.dist-info/entry_points.txt,,\npytest-9.2.0.dist-info/RECORD,,\n"},
	}
	var wheel bytes.Buffer
	archive := zip.NewWriter(&wheel)
	for _, file := range files {
		w, err := archive.Create(file.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(file.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return wheel.Bytes()
}

// emptyWorld has the folders of a worker and no mirror.
func emptyWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	w.tree = filepath.Join(w.dir, "tree")
	for _, dir := range []string{w.tree, filepath.Join(w.dir, "state"), filepath.Join(w.dir, "report")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.moved = strings.NewReplacer(
		brokerproto.StateDir, filepath.Join(w.dir, "state"),
		brokerproto.ReportFile, filepath.Join(w.dir, "report", "report.xml"))
	return w
}

func newWorld(t *testing.T, wheel []byte) *world {
	t.Helper()
	python, err := exec.Command("python3", "-I", "-c", "import sys, venv, pip; print(sys.executable)").Output()
	if err != nil {
		t.Fatal("there is no python3 with venv and pip")
	}
	w := emptyWorld(t)
	const file = "pytest-9.2.0-py3-none-any.whl"
	mux := http.NewServeMux()
	mux.HandleFunc("/index/pytest/", func(rw http.ResponseWriter, r *http.Request) {
		w.requests.Add(1)
		if strings.HasSuffix(r.URL.Path, file) {
			_, _ = rw.Write(wheel)
			return
		}
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, `<!DOCTYPE html><html><body><a href="/index/pytest/%s">%s</a></body></html>`, file, file)
	})
	w.mirror = httptest.NewServer(mux)
	t.Cleanup(w.mirror.Close)
	w.moved = strings.NewReplacer(
		brokerproto.StateDir, filepath.Join(w.dir, "state"),
		brokerproto.ReportFile, filepath.Join(w.dir, "report", "report.xml"),
		pypi.Python, strings.TrimSpace(string(python)), "/usr/local/bin/uv", testneeds.Tool(t, "uv"))
	return w
}

// run executes one command and returns its exit status and output.
func (w *world) run(c Command) (int, string) {
	w.t.Helper()
	var argv []string
	for _, argument := range c.Argv {
		argv = append(argv, w.moved.Replace(argument))
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = w.tree
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	for name, value := range c.Env {
		cmd.Env = append(cmd.Env, name+"="+w.moved.Replace(value))
	}
	output, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		w.t.Fatalf("%s: %v", c.Name, err)
	}
	return cmd.ProcessState.ExitCode(), string(output)
}

func (w *world) write(name, content string) {
	w.t.Helper()
	path := filepath.Join(w.tree, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	// Some have to be executable.
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		w.t.Fatal(err)
	}
}

// plant writes files that leave a marker if they ever run, each under a name that
// something on the way might import or execute.
func (w *world) plant() (marker string) {
	marker = filepath.Join(w.dir, "marker")
	python := fmt.Sprintf("open(%q, 'a').write(__file__ + '\\n')\n", marker)
	shell := fmt.Sprintf("#!/bin/sh\necho \"$0\" >>%q\n", marker)
	for _, name := range []string{
		"venv.py", "pip.py", "pip/__main__.py", "pip/__init__.py", "ensurepip/__init__.py", "sitecustomize.py", "usercustomize.py", "site.py",
		"encodings/__init__.py", "json.py", "subprocess.py", "setup.py", "backend.py", "hatchling/build.py", "_distutils_hack/__init__.py",
		".venv/lib/python3/site-packages/sitecustomize.py", "runpy.py", "zipfile.py", "ssl.py",
	} {
		w.write(name, python)
	}
	for _, name := range []string{"python", "python3", "uv", "git", ".venv/bin/python", ".venv/bin/python3", "env/bin/python", "node"} {
		w.write(name, shell)
	}
	w.write("evil.pth", "import os; "+python)
	w.write(".venv/pyvenv.cfg", "home = "+w.tree+"\n")
	w.write("pyvenv.cfg", "home = "+w.tree+"\n")
	w.write("setup.cfg", "[install]\nprefix = "+w.tree+"\n")
	w.write(".env", "UV_INDEX_URL=http://example.invalid/\nPYTHONPATH=.\n")
	return marker
}

// springs shows that a trap works: without -I, the repository's venv.py is Python's.
func (w *world) springs(marker string) {
	w.t.Helper()
	w.run(Command{Name: "trap", Argv: []string{pypi.Python, "-m", "venv", "x"}})
	if err := os.Remove(marker); err != nil {
		w.t.Fatalf("the traps do not work: %v", err)
	}
}

func (w *world) provision(plan Plan) {
	w.t.Helper()
	for _, c := range plan.Provisioning {
		before := w.requests.Load()
		if code, output := w.run(c); code != 0 {
			w.t.Fatalf("%s ended with %d:\n%s", c.Name, code, output)
		}
		if asked := w.requests.Load() > before; asked != (c.Network == brokerproto.NetworkPackageProxy) {
			w.t.Errorf("%s asked the mirror: %v", c.Name, asked)
		}
	}
}

func (w *world) verify(c Command, exit int) {
	w.t.Helper()
	report := filepath.Join(w.dir, "report", "report.xml")
	_ = os.Remove(report)
	before := w.requests.Load()
	if code, output := w.run(c); code != exit {
		w.t.Fatalf("%s ended with %d:\n%s", c.Name, code, output)
	}
	data, err := os.ReadFile(report)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := junit.Parse(data); err != nil {
		w.t.Errorf("%s: %v in\n%s", c.Name, err, data)
	}
	if w.requests.Load() != before {
		w.t.Errorf("%s asked the mirror", c.Name)
	}
}

// project writes the files of a project of the manager, whose lock has the digest.
func (w *world) project(eco v1alpha1.Ecosystem, digest string) {
	w.write("tests/test_a.py", "assert True\n")
	w.write("tests/test_b.py", "assert False\n")
	if eco == v1alpha1.EcosystemPip {
		w.write("pyproject.toml", "[project]\nname='demo'\nrequires-python='>=3.11'\n[build-system]\nrequires=[]\nbuild-backend='backend'\nbackend-path=['.']\n")
		w.write("requirements.txt", "# locked\npytest==9.2.0 \\\n    --hash=sha256:"+digest+"\n")
		return
	}
	w.write("pyproject.toml", "[project]\nname='demo'\nversion='0'\nrequires-python='>=3.11'\ndependencies=['pytest']\n"+
		"[tool.uv]\npackage=false\n[build-system]\nrequires=[]\nbuild-backend='backend'\nbackend-path=['.']\n")
	w.write("uv.lock", `version = 1
revision = 3
requires-python = ">=3.11"

[[package]]
name = "demo"
version = "0"
source = { virtual = "." }
dependencies = [
    { name = "pytest" },
]

[package.metadata]
requires-dist = [{ name = "pytest" }]

[[package]]
name = "pytest"
version = "9.2.0"
source = { registry = "https://pypi.org/simple" }
wheels = [
    { url = "https://files.pythonhosted.org/packages/d1/d6/3965ed04c63042e047cb6a3e6ed1a63a35087b6a609aa3a15ed8ac56c221/pytest-9.2.0-py3-none-any.whl", hash = "sha256:`+digest+`" },
]
`)
}

// TestTheRealManagersRunThePlans has the real pip and uv execute what is planned, in a
// tree full of traps.
func TestTheRealManagersRunThePlans(t *testing.T) {
	wheel := pytestWheel(t)
	sum := sha256.Sum256(wheel)
	for _, eco := range []v1alpha1.Ecosystem{v1alpha1.EcosystemPip, v1alpha1.EcosystemUV} {
		t.Run(string(eco), func(t *testing.T) {
			w := newWorld(t, wheel)
			w.project(eco, hex.EncodeToString(sum[:]))
			if _, err := Detect(readRoot(t, w.tree)); err != nil {
				t.Fatal(err)
			}
			marker := w.plant()
			w.springs(marker)
			plan := PlanFor(Detection{Ecosystem: eco}, v1alpha1.Runtime{}, []string{"tests/test_a.py"}, w.mirror.URL+"/")
			w.provision(plan)
			if ran, err := os.ReadFile(marker); err == nil {
				t.Fatalf("code of the repository ran while the mirror was in reach:\n%s", ran)
			}
			if compiled, _ := filepath.Glob(filepath.Join(w.dir, "state/env/lib/*/site-packages/pytest/__pycache__")); compiled != nil {
				t.Error("installing compiled what may never be imported")
			}
			// The traps would break the tests, which do see the working directory.
			if err := os.Rename(w.tree, w.tree+".trapped"); err != nil {
				t.Fatal(err)
			}
			w.project(eco, hex.EncodeToString(sum[:]))
			w.verify(plan.Regression, 0)
			w.verify(plan.Suite, 1)
		})
	}
}

// TestAFlippedDigestFailsTheInstallation is AC2's hash mismatch.
func TestAFlippedDigestFailsTheInstallation(t *testing.T) {
	for _, eco := range []v1alpha1.Ecosystem{v1alpha1.EcosystemPip, v1alpha1.EcosystemUV} {
		t.Run(string(eco), func(t *testing.T) {
			w := newWorld(t, pytestWheel(t))
			w.project(eco, strings.Repeat("0", 64))
			plan := PlanFor(Detection{Ecosystem: eco}, v1alpha1.Runtime{}, nil, w.mirror.URL+"/")
			for _, c := range plan.Provisioning {
				code, output := w.run(c)
				if c.Name != CommandInstall {
					if code != 0 {
						t.Fatalf("%s ended with %d:\n%s", c.Name, code, output)
					}
					continue
				}
				if code == 0 || !strings.Contains(strings.ToLower(output), "hash") {
					t.Errorf("install ended with %d:\n%s", code, output)
				}
			}
		})
	}
}
