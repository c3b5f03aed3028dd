package protect

import (
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/refusal"
)

const pyproject = `[project]
name = "x"
dependencies = ["icalendar==6.1.0"]

[tool.pytest.ini_options]
addopts = "-q"

[tool.uv]
package = false

[tool.ruff]
line-length = 100
`

const requirements = `icalendar==6.1.0 \\
    --hash=sha256:aa
pytest==9.2.0 ; python_version >= "3.9" \\
    --hash=sha256:bb
pytest-cov==6.0.0 --hash=sha256:cc
`

const uvLock = `version = 1

[[package]]
name = "icalendar"
version = "6.1.0"

[[package]]
name = "pytest"
version = "9.2.0"
`

func TestPython(t *testing.T) {
	cases := []struct {
		name           string
		compare        func(trusted, candidate []byte) *refusal.Refusal
		file, old, new string
		subject        string
	}{
		{"nothing", Pyproject, pyproject, "", "", ""},
		{"a dependency", Pyproject, pyproject, "6.1.0", "6.2.0", ""},
		{"a formatter's option", Pyproject, pyproject, "100", "120", ""},
		{"pytest's options", Pyproject, pyproject, "-q", "-q --deselect tests/test_bug.py", "tool.pytest"},
		{"another runner's options", Pyproject, pyproject, "[tool.ruff]", "[tool.tox]", "tool.tox"},
		{"a build system", Pyproject, pyproject, "[project]", "[build-system]\nrequires = []\n[project]", "build-system"},
		{"a pinned dependency", Requirements, requirements, "6.1.0", "6.2.0", ""},
		{"a digest", Requirements, requirements, "sha256:aa", "sha256:dd", ""},
		{"another pytest", Requirements, requirements, "pytest==9.2.0", "pytest==7.0.0", "requirements.txt/pytest"},
		{"a plugin of pytest", Requirements, requirements, "pytest-cov==6.0.0", "Pytest_Forge==1.0\npytest-cov==6.0.0", "requirements.txt/pytest_forge"},
		{"a plugin removed", Requirements, requirements, "pytest-cov==6.0.0", "cov==6.0.0", "requirements.txt/pytest-cov"},
		{"a locked dependency", UVLock, uvLock, "6.1.0", "6.2.0", ""},
		{"another locked pytest", UVLock, uvLock, "9.2.0", "7.0.0", "uv.lock/pytest"},
		{"a locked plugin", UVLock, uvLock, "icalendar", "pytest-forge", "uv.lock/pytest-forge"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			refused := c.compare([]byte(c.file), []byte(strings.Replace(c.file, c.old, c.new, 1)))
			switch {
			case refused == nil && c.subject != "":
				t.Error("not named")
			case refused != nil && refused.Subject != c.subject:
				t.Errorf("named %q, want %q", refused.Subject, c.subject)
			}
		})
	}
}

func TestPyprojectThatIsAdded(t *testing.T) {
	if refused := Pyproject(nil, []byte("[tool.pytest.ini_options]\naddopts = \"-k nothing\"\n")); refused == nil || refused.Subject != "tool.pytest" {
		t.Errorf("got %v", refused)
	}
}

func TestContentsComparesByName(t *testing.T) {
	was := map[string][]byte{"package.json": []byte(packageJSON), "requirements.txt": []byte(requirements)}
	if refused := Contents(was, was); refused != nil {
		t.Errorf("nothing changed: %v", refused)
	}
	is := map[string][]byte{"package.json": []byte(packageJSON), "requirements.txt": []byte("pytest==1\n")}
	if refused := Contents(was, is); refused == nil || refused.Subject != "requirements.txt/pytest" {
		t.Errorf("got %v", refused)
	}
}

func FuzzPython(f *testing.F) {
	f.Add([]byte(pyproject), []byte(uvLock))
	f.Add([]byte(requirements), []byte("[tool]\nx = 1"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, compare := range []func(a, b []byte) *refusal.Refusal{Pyproject, Requirements, UVLock} {
			if refused := compare(a, a); refused != nil {
				t.Errorf("a file differs from itself: %v", refused)
			}
			compare(a, b)
		}
	})
}
