package ecosystem

import (
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/ecotest"
)

const (
	manifest = `{"engines":{"node":">=20"},"scripts":{"test":"node --test"}}`
	lockfile = `{"lockfileVersion":3,"packages":{"":{}}}`
)

// root makes a root of files; a name that ends in a slash is a folder.
func root(names ...string) RootFiles {
	r := RootFiles{Content: map[string][]byte{}}
	for _, name := range names {
		entry := Entry{Name: name, Type: EntryFile}
		if name[len(name)-1] == '/' {
			entry = Entry{Name: name[:len(name)-1], Type: EntryDirectory}
		}
		r.Names = append(r.Names, entry)
		switch name {
		case "package.json":
			r.Content[name] = []byte(manifest)
		case "package-lock.json":
			r.Content[name] = []byte(lockfile)
		}
	}
	return r
}

func TestDetectAcceptsNPM(t *testing.T) {
	got, err := Detect(root("README.md", "src/", "package.json", "package-lock.json", "test/", "setup.cfg"))
	if err != nil || got.Ecosystem != v1alpha1.EcosystemNPM {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestDetectRefuses(t *testing.T) {
	cases := []struct {
		name    string
		root    RootFiles
		detail  v1alpha1.Detail
		subject string
	}{
		{"an empty tree", root(), v1alpha1.DetailNoEcosystem, ""},
		{"a Go project", root("go.mod", "main.go"), v1alpha1.DetailNoEcosystem, ""},
		{"package.json in a folder only", root("app/"), v1alpha1.DetailNoEcosystem, ""},
		{"a lockfile alone", root("package-lock.json"), v1alpha1.DetailMissingManifest, "package.json"},
		{"a manifest alone", root("package.json"), v1alpha1.DetailMissingLockfile, "package-lock.json"},
		{"pnpm", root("package.json", "pnpm-lock.yaml"), v1alpha1.DetailUnsupportedManager, "pnpm-lock.yaml"},
		{"Yarn", root("package.json", "yarn.lock"), v1alpha1.DetailUnsupportedManager, "yarn.lock"},
		{"bun's text lockfile", root("package.json", "bun.lock"), v1alpha1.DetailUnsupportedManager, "bun.lock"},
		{"bun's binary lockfile", root("package.json", "bun.lockb"), v1alpha1.DetailUnsupportedManager, "bun.lockb"},
		{"a shrinkwrap beside the lockfile", root("package.json", "package-lock.json", "npm-shrinkwrap.json"), v1alpha1.DetailUnsupportedManager, "npm-shrinkwrap.json"},
		{"Yarn beside npm", root("package.json", "package-lock.json", "yarn.lock"), v1alpha1.DetailUnsupportedManager, "yarn.lock"},
		{"Poetry", root("pyproject.toml", "poetry.lock"), v1alpha1.DetailUnsupportedManager, "poetry.lock"},
		{"Pipenv", root("Pipfile"), v1alpha1.DetailUnsupportedManager, "Pipfile"},
		{"PDM", root("pyproject.toml", "pdm.lock"), v1alpha1.DetailUnsupportedManager, "pdm.lock"},
		{"Node and Python together", root("package.json", "package-lock.json", "requirements.txt"), v1alpha1.DetailAmbiguousManager, ""},
		{"uv and pip together", root("pyproject.toml", "uv.lock", "requirements.txt"), v1alpha1.DetailAmbiguousManager, ""},
		{"a Python project without a lockfile", root("setup.py"), v1alpha1.DetailMissingLockfile, "uv.lock"},
		{"a uv lockfile alone", root("uv.lock"), v1alpha1.DetailMissingManifest, "pyproject.toml"},
		{"a requirements.txt that is too large", root("requirements.txt"), v1alpha1.DetailInvalidLockfile, "requirements.txt"},
		{"npm's configuration", root("package.json", "package-lock.json", ".npmrc"), v1alpha1.DetailUnsupportedConfig, ".npmrc"},
		{"a folder named as npm's configuration", root("package.json", "package-lock.json", ".npmrc/"), v1alpha1.DetailUnsupportedConfig, ".npmrc"},
		{"Yarn's configuration in an npm project", root(".yarnrc.yml", "package.json", "package-lock.json"), v1alpha1.DetailUnsupportedConfig, ".yarnrc.yml"},
		{"pip's configuration", root("pip.conf", "requirements.txt"), v1alpha1.DetailUnsupportedConfig, "pip.conf"},
		{"uv's configuration", root("uv.toml", "pyproject.toml"), v1alpha1.DetailUnsupportedConfig, "uv.toml"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Detect(c.root)
			ecotest.Refused(t, c.detail, c.subject, err)
		})
	}
}

func TestWantedFilesAreThoseThatDetectReads(t *testing.T) {
	wanted := WantedFiles()
	for _, name := range []string{"package.json", "package-lock.json", ".nvmrc", ".node-version", "requirements.txt", "pyproject.toml", "uv.lock", ".python-version"} {
		if wanted[name] <= 0 {
			t.Errorf("%s has no bound", name)
		}
	}
}
