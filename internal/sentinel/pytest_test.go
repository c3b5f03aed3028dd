package sentinel

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/junit"
)

const pythonTest = `from cut import cut


def test_keeps():
    assert cut("abc", 5) == "abc"


def test_cuts():
    assert cut("abcdef", 3) == "abc"
`

// pytest runs a twin of pythonTest beside a module and returns what it reports.
func pytest(t *testing.T, module string) (Twin, map[string]junit.Status) {
	t.Helper()
	if err := exec.Command("python3", "-c", "import pytest").Run(); err != nil {
		t.Fatalf("python3 has no pytest: %v", err)
	}
	dir := t.TempDir()
	twin, err := New("test_cut.py", []byte(pythonTest), []string{"test_keeps", "test_cuts"}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"cut.py": module, "test_cut.py": pythonTest, twin.Path: string(twin.Content)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=report.xml", twin.Path)
	cmd.Dir = dir
	out, _ := cmd.CombinedOutput() // it fails: failing tests are planted
	data, err := os.ReadFile(filepath.Join(dir, "report.xml"))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	report, err := junit.Read(data)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	statuses := map[string]junit.Status{}
	for _, c := range report.Cases {
		if slices.Contains(twin.Planted, c.Name) {
			statuses[c.Name] = c.Status
		} else {
			statuses[twin.Original(c.ID)] = c.Status
		}
	}
	return twin, statuses
}

func TestPytestReportsAnHonestTwin(t *testing.T) {
	twin, statuses := pytest(t, "def cut(text, limit):\n    return text[:limit]\n")
	for _, title := range twin.Planted {
		if statuses[title] != junit.Failed {
			t.Errorf("planted %s: %q", title, statuses[title])
		}
	}
	for _, id := range []string{"pytest > test_cut > test_keeps", "pytest > test_cut > test_cuts"} {
		if statuses[id] != junit.Passed {
			t.Errorf("%s: %q of %v", id, statuses[id], statuses)
		}
	}
}

func TestPytestShowsForgeries(t *testing.T) {
	for name, module := range map[string]string{
		"assertions of unittest that hold": "import unittest\nunittest.TestCase.assertEqual = lambda *a, **k: None\ndef cut(text, limit):\n    return text\n",
		"outcomes that pytest is told": `import _pytest.runner
real = _pytest.runner.pytest_runtest_makereport
import _pytest.reports
made = _pytest.reports.TestReport.from_item_and_call.__func__
def forged(cls, item, call):
    call.excinfo = None
    return made(cls, item, call)
_pytest.reports.TestReport.from_item_and_call = classmethod(forged)
def cut(text, limit):
    return text
`,
	} {
		t.Run(name, func(t *testing.T) {
			twin, statuses := pytest(t, module)
			for _, title := range twin.Planted {
				if statuses[title] != junit.Failed {
					return
				}
			}
			t.Errorf("every planted test failed: %v", statuses)
		})
	}
}

func TestPytestShowsABugThatIsHiddenByName(t *testing.T) {
	_, statuses := pytest(t, `import inspect
def cut(text, limit):
    caller = inspect.stack()[1]
    return text[:limit] if caller.filename.endswith("test_cut.py") and "test_t" not in caller.filename else text
`)
	if statuses["pytest > test_cut > test_cuts"] == junit.Passed {
		t.Errorf("the copy passes: %v", statuses)
	}
}
