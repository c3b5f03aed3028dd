package protect

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

const manifest = `{"scripts":{"pretest":"npm run prepare-tests","prepare-tests":"sh ./build/prepare.sh",
	"test":"node --import=./build/register --test","start":"node src/index.js"}}`

// rootOf is the content of the files at the root.
func rootOf(files map[string]string) map[string][]byte {
	root := map[string][]byte{}
	for name, content := range files {
		if !strings.Contains(name, "/") {
			root[name] = []byte(content)
		}
	}
	return root
}

// tree is a listing: content stands for the blob's id.
func tree(files map[string]string) []File {
	var listing []File
	for name, content := range files {
		listing = append(listing, File{Path: name, ID: content, Mode: "100644", Size: int64(len(content))})
	}
	return listing
}

var trusted = map[string]string{
	"package.json": manifest, "package-lock.json": "lock", "README.md": "readme",
	"src/index.js": "bug", "src/parse.test.ts": "a test beside its source", "src/spec/parser.js": "no test",
	"test/bug.test.js": "the target", "test/other.test.js": "other", "test/helper.js": "helper", "test/data/in.txt": "data",
	"test/lib/index.js": "library", "checks/bug.js": "a target of no test's name",
	"build/prepare.sh": "prepare", "build/register.js": "register", "build/other.js": "other",
	"jest.config.mjs": "jest", ".mocharc.yml": "mocha", ".env": "X=1",
	"tests/conftest.py": "conftest", "tests/test_bug.py": "test", "tests/util.py": "util", "pytest.ini": "[pytest]",
}

func check(t *testing.T, change func(map[string]string)) (subject string, named bool) {
	t.Helper()
	files := maps.Clone(trusted)
	change(files)
	rules := NewRules(tree(trusted), rootOf(trusted), []string{"test/bug.test.js", "checks/bug.js"})
	refusal := rules.Check(tree(files))
	if refusal == nil {
		return "", false
	}
	if refusal.Detail != v1alpha1.DetailProtectedPathChanged || refusal.Message == "" {
		t.Errorf("got %+v", refusal)
	}
	return refusal.Subject, true
}

func TestNamesChangesOfWhatJudges(t *testing.T) {
	for _, name := range []string{
		"test/bug.test.js", "checks/bug.js", "test/other.test.js", "src/parse.test.ts", "test/helper.js", "test/data/in.txt",
		"jest.config.mjs", ".mocharc.yml", ".env", "build/prepare.sh", "build/register.js",
		"tests/conftest.py", "tests/test_bug.py", "tests/util.py", "pytest.ini",
	} {
		for how, change := range map[string]func(map[string]string){
			"changed": func(f map[string]string) { f[name] = "forged" },
			"deleted": func(f map[string]string) { delete(f, name) },
		} {
			if subject, _ := check(t, change); subject != name {
				t.Errorf("%s %s: named %q", name, how, subject)
			}
		}
	}
}

func TestNamesAdditionsWithPowerOverTests(t *testing.T) {
	for _, name := range []string{
		"vitest.config.ts", "vite.config.js", ".mocharc.json", ".nycrc", "babel.config.cjs", ".env.test", "src/.env",
		"conftest.py", "src/conftest.py", "tox.ini", "setup.cfg", "sitecustomize.py", "lib/usercustomize.py", "x.pth",
		"forged.egg-info/entry_points.txt", "forged.dist-info/METADATA", "pytest.py", "_pytest/__init__.py",
		"tests/__pycache__/test_bug.cpython-313-pytest-9.2.0.pyc", "tests/test_bug.pyc",
		"test/node_modules/chai/index.js", "node_modules/.bin/node", "__mocks__/fs.js",
		"test/package.json", "src/package.json",
		"test/helper.ts", "test/helper/index.js", "test/lib.js", "test/helper", "tests/json.py", "tests/util/__init__.py",
		"node", "build/register",
	} {
		if subject, _ := check(t, func(f map[string]string) { f[name] = "forged" }); subject != name {
			t.Errorf("%s added: named %q", name, subject)
		}
	}
}

func TestLeavesFixesPossible(t *testing.T) {
	cases := map[string]func(map[string]string){
		"nothing":                        func(map[string]string) {},
		"the source":                     func(f map[string]string) { f["src/index.js"] = "fix" },
		"a new source file":              func(f map[string]string) { f["src/cut.js"] = "fix" },
		"a source removed":               func(f map[string]string) { delete(f, "src/index.js") },
		"manifest and lock":              func(f map[string]string) { f["package.json"], f["package-lock.json"] = "1", "2" },
		"a source in a folder of spec":   func(f map[string]string) { f["src/spec/parser.js"] = "fix" },
		"a script that no test needs":    func(f map[string]string) { f["build/other.js"] = "fix" },
		"a new test":                     func(f map[string]string) { f["test/more.test.js"] = "new" },
		"a new test beside its source":   func(f map[string]string) { f["src/cut.test.js"] = "new" },
		"a new test's data":              func(f map[string]string) { f["test/data/more.txt"] = "new" },
		"a new helper of a new test":     func(f map[string]string) { f["test/more-helper.js"] = "new" },
		"a new test of pytest":           func(f map[string]string) { f["tests/test_more.py"] = "new" },
		"a package.json far from tests":  func(f map[string]string) { f["examples/package.json"] = "{}" },
		"a document and a changed notes": func(f map[string]string) { f["README.md"], f["CHANGELOG.md"] = "1", "2" },
	}
	for name, change := range cases {
		if subject, named := check(t, change); named {
			t.Errorf("%s: named %q", name, subject)
		}
	}
}

func TestNamesTheFolderOfAPathThatMayNotBeShown(t *testing.T) {
	for name, want := range map[string]string{
		"tests/x y/conftest.py": "tests", "src/\u202e/.mocharc.yml": "src", "\u202e.pth": "",
	} {
		if subject, named := check(t, func(f map[string]string) { f[name] = "forged" }); !named || subject != want {
			t.Errorf("%q: named %v, %q, want %q", name, named, subject, want)
		}
	}
}

func TestAModeIsPartOfAFile(t *testing.T) {
	listing := tree(trusted)
	for i := range listing {
		if listing[i].Path == "test/bug.test.js" {
			listing[i].Mode = "120000"
		}
	}
	rules := NewRules(tree(trusted), rootOf(trusted), nil)
	if refusal := rules.Check(listing); refusal == nil || refusal.Subject != "test/bug.test.js" {
		t.Errorf("a test that became a link: %v", refusal)
	}
}

func TestFilesBeginWithWhatDecidesMost(t *testing.T) {
	rules := NewRules(tree(trusted), rootOf(trusted), []string{"test/bug.test.js"})
	var names []string
	for _, file := range rules.Files() {
		names = append(names, file.Path)
	}
	if i := slices.Index(names, "test/bug.test.js"); i < 0 || i > slices.Index(names, "test/other.test.js") {
		t.Errorf("in the order %q", names)
	}
	if slices.Contains(names, "src/index.js") || !slices.Contains(names, "test/data/in.txt") {
		t.Errorf("protected: %q", names)
	}
}
