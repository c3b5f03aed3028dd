package uv

import (
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/ecotest"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/model"
	"github.com/ai-dossier/zt-operator/internal/runtimes"
)

const (
	folder = "https://files.pythonhosted.org/packages/d1/d6/3965ed04c63042e047cb6a3e6ed1a63a35087b6a609aa3a15ed8ac56c221/"
	digit  = "sha256:4f1d9991f5acc0ca119f9d443620b77f9d6b33703e51011c16baf57afb285fc6"

	project = `[project]
name = "demo"
version = "0.1.0"
requires-python = ">=3.11"
dependencies = ["six"]
[dependency-groups]
dev = ["pytest"]
[tool.uv]
package = false
`
	locks = `version = 1
revision = 3
requires-python = ">=3.11"

[[package]]
name = "demo"
version = "0.1.0"
source = { virtual = "." }
dependencies = [
    { name = "six" },
]

[package.dev-dependencies]
dev = [
    { name = "pytest" },
]

[[package]]
name = "six"
version = "1.17.0"
source = { registry = "https://pypi.org/simple" }
sdist = { url = "` + folder + `six-1.17.0.tar.gz", hash = "` + digit + `", size = 3 }
wheels = [
    { url = "` + folder + `six-1.17.0-py2.py3-none-any.whl", hash = "` + digit + `", size = 3 },
]

[[package]]
name = "pytest"
version = "9.2.0"
source = { registry = "https://pypi.org/simple" }
dependencies = [
    { name = "colorama", marker = "sys_platform == 'win32'" },
]
wheels = [
    { url = "` + folder + `pytest-9.2.0-py3-none-any.whl", hash = "` + digit + `" },
]

[[package]]
name = "colorama"
version = "0.4.6"
source = { registry = "https://pypi.org/simple" }
wheels = [
    { url = "` + folder + `colorama-0.4.6-cp313-cp313-win_amd64.whl", hash = "` + digit + `" },
]
`
)

// tree makes a root of the two files, each with replacements old, new, old, new, ….
func tree(t *testing.T, pyproject, lockfile []string) model.RootFiles {
	t.Helper()
	change := func(text string, pairs []string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if !strings.Contains(text, pairs[i]) {
				t.Fatalf("there is no %q to change", pairs[i])
			}
			text = strings.Replace(text, pairs[i], pairs[i+1], 1)
		}
		return text
	}
	return ecotest.Root(map[string]string{"pyproject.toml": change(project, pyproject), Lockfile: change(locks, lockfile)})
}

func TestAcceptsAVirtualProject(t *testing.T) {
	root := tree(t, nil, nil)
	got, err := Detect(root)
	if err != nil {
		t.Fatal(err)
	}
	if got.Ecosystem != v1alpha1.EcosystemUV || got.Packages != 3 {
		t.Errorf("got %+v", got)
	}
	want := []runtimes.Declaration{
		{Source: "pyproject.toml/requires-python", Target: runtimes.Interpreter, Syntax: runtimes.PEP440, Value: ">=3.11"},
		{Source: "uv.lock/requires-python", Target: runtimes.Interpreter, Syntax: runtimes.PEP440, Value: ">=3.11"},
		{Source: "uv", Target: runtimes.Manager, Syntax: runtimes.PEP440, Value: manager},
	}
	for i := range want {
		if i >= len(got.Declarations) || got.Declarations[i] != want[i] {
			t.Errorf("declarations: got %+v", got.Declarations)
			break
		}
	}
	// colorama has a wheel for Windows only, and is for Windows only.
	if err := Fits(root, "3.13.5"); err != nil {
		t.Error(err)
	}
	artifacts, err := Artifacts(root)
	if err != nil || len(artifacts) != 4 || artifacts[1].URL != folder+"six-1.17.0.tar.gz" {
		t.Errorf("got %+v, %v", artifacts, err)
	}
}

func TestAcceptsWhatNeedsNoBuild(t *testing.T) {
	cases := []struct {
		name string
		root model.RootFiles
	}{
		{"a build system that package = false takes away", tree(t, []string{"[tool.uv]", "[build-system]\nrequires = ['hatchling']\n[tool.uv]"}, nil)},
		{"neither the key nor a build system", tree(t, []string{"[tool.uv]\npackage = false\n", ""}, nil)},
		{"default groups", tree(t, []string{"package = false", "package = false\ndefault-groups = ['dev', 'docs']"}, nil)},
		{"all groups", tree(t, []string{"package = false", "package = false\ndefault-groups = 'all'"}, nil)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Detect(c.root); err != nil {
				t.Fatal(err)
			}
			if err := Fits(c.root, "3.13.5"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	six := folder + "six-1.17.0-py2.py3-none-any.whl"
	sixSource := `name = "six"
version = "1.17.0"
source = { registry = "https://pypi.org/simple" }`
	cases := []struct {
		name                string
		pyproject, lockfile []string
		detail              v1alpha1.Detail
		subject             string
	}{
		{"another index in the manifest", []string{"package = false", "package = false\nindex-url = 'https://user:secret@example.com'"}, nil, v1alpha1.DetailUnsupportedConfig, "tool.uv.index-url"},
		{"sources", []string{"package = false", "package = false\n[tool.uv.sources]\nsix = { path = '.' }"}, nil, v1alpha1.DetailUnsupportedConfig, "tool.uv.sources"},
		{"a workspace", []string{"package = false", "package = false\nworkspace = { members = ['a'] }"}, nil, v1alpha1.DetailUnsupportedConfig, "tool.uv.workspace"},
		{"a project that is a package", []string{"package = false", "package = true"}, nil, v1alpha1.DetailProjectBuildRequired, "tool.uv.package"},
		{"a build system", []string{"[tool.uv]\npackage = false\n", "[build-system]\nrequires = []\n"}, nil, v1alpha1.DetailProjectBuildRequired, "tool.uv.package"},
		{"package as a text", []string{"package = false", "package = 'false'"}, nil, v1alpha1.DetailInvalidManifest, "tool.uv.package"},
		{"groups of numbers", []string{"package = false", "package = false\ndefault-groups = [1]"}, nil, v1alpha1.DetailInvalidManifest, "tool.uv.default-groups"},
		{"a manifest that is no TOML", []string{"[project]", "[project"}, nil, v1alpha1.DetailInvalidManifest, "pyproject.toml"},
		{"the same key twice", []string{"package = false", "package = false\npackage = true"}, nil, v1alpha1.DetailInvalidManifest, "pyproject.toml"},
		{"a declaration that is no text", []string{"requires-python = \">=3.11\"", "requires-python = 3.11"}, nil, v1alpha1.DetailRuntimeDeclaration, "pyproject.toml/requires-python"},
		{"a lockfile that is no TOML", nil, []string{"version = 1", "version = "}, v1alpha1.DetailInvalidLockfile, Lockfile},
		{"a lockfile without a version", nil, []string{"version = 1\n", ""}, v1alpha1.DetailInvalidLockfile, "version"},
		{"a lockfile of another version", nil, []string{"version = 1", "version = 2"}, v1alpha1.DetailUnsupportedLockfile, "version"},
		{"a project that installs itself", nil, []string{`virtual = "."`, `editable = "."`}, v1alpha1.DetailProjectBuildRequired, "demo"},
		{"no entry for the project", nil, []string{`virtual = "."`, `registry = "https://pypi.org/simple"`}, v1alpha1.DetailBinaryUnavailable, "demo"},
		{"a member of a workspace", nil, []string{`virtual = "."`, `virtual = "member"`}, v1alpha1.DetailUnsupportedDependency, "demo"},
		{"a git repository", nil, []string{sixSource, strings.Replace(sixSource, `registry = "https://pypi.org/simple"`, `git = "https://github.com/benjaminp/six"`, 1)}, v1alpha1.DetailUnsupportedDependency, "six"},
		{"a path", nil, []string{sixSource, strings.Replace(sixSource, `registry = "https://pypi.org/simple"`, `directory = "six"`, 1)}, v1alpha1.DetailUnsupportedDependency, "six"},
		{"another index", nil, []string{sixSource, strings.Replace(sixSource, "pypi.org", "example.com", 1)}, v1alpha1.DetailUnsupportedDependency, "six"},
		{"two sources", nil, []string{sixSource, strings.Replace(sixSource, `simple" }`, `simple", git = "x" }`, 1)}, v1alpha1.DetailInvalidLockfile, "six"},
		{"an artifact of another host", nil, []string{six, strings.Replace(six, "files.pythonhosted.org", "example.com", 1)}, v1alpha1.DetailUnsupportedDependency, "six"},
		{"an artifact of another port", nil, []string{six, strings.Replace(six, "hosted.org", "hosted.org:444", 1)}, v1alpha1.DetailUnsupportedDependency, "six"},
		{"an artifact with a password", nil, []string{six, strings.Replace(six, "https://", "https://user:secret@", 1)}, v1alpha1.DetailUnsupportedDependency, "six"},
		{"an artifact without encryption", nil, []string{six, strings.Replace(six, "https", "http", 1)}, v1alpha1.DetailUnsupportedDependency, "six"},
		{"an artifact with a query", nil, []string{six, six + "?x"}, v1alpha1.DetailUnsupportedDependency, "six"},
		{"an artifact of another package, its digest equal", nil, []string{six, folder + "sic-1.17.0-py2.py3-none-any.whl"}, v1alpha1.DetailUnsupportedDependency, "six"},
		{"an artifact of another version, its digest equal", nil, []string{six, folder + "six-1.16.0-py2.py3-none-any.whl"}, v1alpha1.DetailUnsupportedDependency, "six"},
		{"a source distribution among the wheels", nil, []string{six, folder + "six-1.17.0.tar.gz"}, v1alpha1.DetailUnsupportedDependency, "six"},
		{"no digest", nil, []string{`six-1.17.0.tar.gz", hash = "` + digit, `six-1.17.0.tar.gz", hash = "`}, v1alpha1.DetailMissingHash, "six"},
		{"a weaker digest", nil, []string{`six-1.17.0.tar.gz", hash = "` + digit, `six-1.17.0.tar.gz", hash = "md5:00`}, v1alpha1.DetailMissingHash, "six"},
		{"no wheel", nil, []string{"wheels = [\n    { url = \"" + six + `", hash = "` + digit + "\", size = 3 },\n]", ""}, v1alpha1.DetailBinaryUnavailable, "six"},
		{"no pytest", nil, []string{`name = "pytest"
version`, `name = "pytest-cov"
version`, "pytest-9.2.0-py3", "pytest_cov-9.2.0-py3"}, v1alpha1.DetailNoTestRunner, "pytest"},
		{"the same release twice", nil, []string{`name = "colorama"
version = "0.4.6"`, `name = "six"
version = "1.17"`}, v1alpha1.DetailInvalidLockfile, "six"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Detect(tree(t, c.pyproject, c.lockfile))
			ecotest.Refused(t, c.detail, c.subject, err)
		})
	}
}

func TestFitsFollowsTheEdgesThatHold(t *testing.T) {
	newer := `
[[package]]
name = "six"
version = "1.18.0"
source = { registry = "https://pypi.org/simple" }
wheels = [
    { url = "` + folder + `six-1.18.0-cp313-cp313-manylinux_2_28_x86_64.whl", hash = "` + digit + `" },
]

[[package]]
name = "colorama"`
	forked := []string{`{ name = "six" },`, `{ name = "six", version = "1.17.0", source = { registry = "https://pypi.org/simple" }, marker = "python_full_version < '3.13'" },
    { name = "six", version = "1.18.0", source = { registry = "https://pypi.org/simple" }, marker = "python_full_version >= '3.13'" },`,
		"\n[[package]]\nname = \"colorama\"", newer}
	cases := []struct {
		name                string
		pyproject, lockfile []string
		interpreter         string
		detail              v1alpha1.Detail
		subject             string
	}{
		{"versions by interpreter, the newer one", nil, forked, "3.13.5", "", ""},
		{"versions by interpreter, the older one", nil, forked, "3.11.2", "", ""},
		{"two versions at once", nil, append(append([]string{}, forked...), "'3.13'", "'3.14'"), "3.13.5", v1alpha1.DetailInvalidLockfile, "six"},
		{"a name that stands for two versions", nil, []string{"\n[[package]]\nname = \"colorama\"", newer}, "3.13.5", v1alpha1.DetailInvalidLockfile, "six"},
		{"a dependency that is not locked", nil, []string{`{ name = "six" }`, `{ name = "seven" }`}, "3.13.5", v1alpha1.DetailInvalidLockfile, "seven"},
		{"a wheel for another interpreter", nil, []string{"six-1.17.0-py2.py3-none-any.whl", "six-1.17.0-cp311-cp311-manylinux_2_17_x86_64.whl"}, "3.13.5", v1alpha1.DetailBinaryUnavailable, "six"},
		{"a wheel for this interpreter", nil, []string{"six-1.17.0-py2.py3-none-any.whl", "six-1.17.0-cp311-cp311-manylinux_2_17_x86_64.whl"}, "3.11.2", "", ""},
		{"a wheel for another system", nil, []string{"sys_platform == 'win32'", "sys_platform == 'linux'"}, "3.13.5", v1alpha1.DetailBinaryUnavailable, "colorama"},
		{"pytest in a group that is not installed", nil, []string{"dev = [\n", "docs = [\n"}, "3.13.5", v1alpha1.DetailNoTestRunner, "pytest"},
		{"pytest in a group that is asked for", []string{"package = false", "package = false\ndefault-groups = ['Docs']"}, []string{"dev = [\n", "docs = [\n"}, "3.13.5", "", ""},
		{"no groups", []string{"package = false", "package = false\ndefault-groups = []"}, nil, "3.13.5", v1alpha1.DetailNoTestRunner, "pytest"},
		{"a marker that the kernel decides", nil, []string{"sys_platform == 'win32'", "platform_release == '6'"}, "3.13.5", v1alpha1.DetailUnsupportedMarker, "colorama"},
		{"a marker of a conflict", nil, []string{"sys_platform == 'win32'", "extra == 'a'"}, "3.13.5", v1alpha1.DetailUnsupportedMarker, "colorama"},
		{"an extra that brings a package", nil, []string{`{ name = "six" }`, `{ name = "six", extra = ["c"] }`, "\n[[package]]\nname = \"pytest\"", "\n[package.optional-dependencies]\nc = [{ name = \"colorama\" }]\n\n[[package]]\nname = \"pytest\""}, "3.13.5", v1alpha1.DetailBinaryUnavailable, "colorama"},
		{"packages that need each other", nil, []string{`{ name = "colorama", marker = "sys_platform == 'win32'" }`, `{ name = "pytest" }`}, "3.13.5", "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := tree(t, c.pyproject, c.lockfile)
			if _, err := Detect(root); err != nil {
				t.Fatalf("refused before a runtime was selected: %v", err)
			}
			ecotest.Judged(t, c.detail, c.subject, Fits(root, c.interpreter))
		})
	}
}

func FuzzDetect(f *testing.F) {
	f.Add([]byte(project), []byte(locks))
	f.Add([]byte("[tool.uv]\n"), []byte("version = 1\npackage = [{name='a', source={virtual='.'}}]"))
	f.Fuzz(func(t *testing.T, manifest, lockfile []byte) {
		root := ecotest.Root(map[string]string{"pyproject.toml": string(manifest), Lockfile: string(lockfile)})
		_, err := Detect(root)
		ecotest.OnlyRefusals(t, err)
		ecotest.OnlyRefusals(t, Fits(root, "3.13.5"))
	})
}
