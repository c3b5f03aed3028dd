package npm

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/ecotest"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/model"
	"github.com/ai-dossier/zt-operator/internal/refusal"
	"github.com/ai-dossier/zt-operator/internal/runtimes"
)

type object = map[string]any

const hash = "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="

// tree is a small project that is accepted; the tests change one thing of it.
type tree struct {
	manifest object
	lock     object
	packages object
	files    map[string]string
	names    []model.Entry
}

func newTree() *tree {
	packages := object{
		"": object{"name": "demo", "dependencies": object{"ms": "^2.1.0"}},
		"node_modules/ms": object{
			"version": "2.1.3", "resolved": "https://registry.npmjs.org/ms/-/ms-2.1.3.tgz", "integrity": hash,
		},
	}
	return &tree{
		manifest: object{
			"name": "demo", "version": "1.0.0", "engines": object{"node": ">=20"},
			"scripts": object{"test": "node --test"}, "dependencies": object{"ms": "^2.1.0"},
		},
		lock:     object{"name": "demo", "lockfileVersion": 3, "requires": true, "packages": packages},
		packages: packages,
		files:    map[string]string{},
	}
}

func (tr *tree) ms() object { return tr.packages["node_modules/ms"].(object) }

func (tr *tree) root(t *testing.T) model.RootFiles {
	t.Helper()
	root := model.RootFiles{Content: map[string][]byte{}, Names: tr.names}
	add := func(name string, content []byte) {
		root.Content[name] = content
		root.Names = append(root.Names, model.Entry{Name: name, Type: model.EntryFile, Size: int64(len(content))})
	}
	for name, value := range map[string]object{Manifest: tr.manifest, Lockfile: tr.lock} {
		if value == nil {
			continue
		}
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		add(name, raw)
	}
	for name, content := range tr.files {
		add(name, []byte(content))
	}
	return root
}

func TestAcceptsAPlainProject(t *testing.T) {
	tr := newTree()
	tr.manifest["packageManager"] = "npm@10.9.3"
	tr.manifest["engines"] = object{"node": ">=20", "npm": ">=10", "vscode": "^1"}
	tr.files[".nvmrc"] = "22\n"
	got, err := Detect(tr.root(t))
	if err != nil {
		t.Fatal(err)
	}
	want := model.Detection{
		Ecosystem: v1alpha1.EcosystemNPM, Runner: model.RunnerNode, Packages: 1, ManagerVersion: "10.9.3",
		Declarations: []runtimes.Declaration{
			{Source: "packageManager", Target: runtimes.Manager, Syntax: runtimes.ExactVersion, Value: "10.9.3"},
			{Source: "engines.node", Target: runtimes.Interpreter, Syntax: runtimes.NPMRange, Value: ">=20"},
			{Source: "engines.npm", Target: runtimes.Manager, Syntax: runtimes.NPMRange, Value: ">=10"},
			{Source: ".nvmrc", Target: runtimes.Interpreter, Syntax: runtimes.NodeVersion, Value: "22\n"},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestAccepts(t *testing.T) {
	cases := []struct {
		name     string
		change   func(*tree)
		packages int
	}{
		{"no dependencies at all", func(tr *tree) { delete(tr.packages, "node_modules/ms") }, 0},
		{"lockfile version 2 with its legacy part", func(tr *tree) {
			tr.lock["lockfileVersion"], tr.lock["dependencies"] = 2, object{"ms": object{"version": "2.1.3"}}
		}, 1},
		{"a scoped package", func(tr *tree) {
			tr.add("@types/node", "22.0.0", "https://registry.npmjs.org/@types/node/-/node-22.0.0.tgz")
		}, 2},
		{"a scope with an encoded slash", func(tr *tree) {
			tr.add("@types/node", "22.0.0", "https://registry.npmjs.org/@types%2fnode/-/node-22.0.0.tgz")
		}, 2},
		{"a nested package", func(tr *tree) {
			tr.add("ms/node_modules/x", "1.0.0-rc.1", "https://registry.npmjs.org/x/-/x-1.0.0-rc.1.tgz")
		}, 2},
		{"build metadata, which file names leave out", func(tr *tree) { tr.add("x", "1.0.0+b1", "https://registry.npmjs.org/x/-/x-1.0.0.tgz") }, 2},
		{"a package bundled inside another", func(tr *tree) {
			tr.ms()["bundleDependencies"] = []string{"inner"}
			tr.packages["node_modules/ms/node_modules/inner"] = object{"version": "1.0.0", "inBundle": true}
		}, 1},
		{"a bundled package's own dependency", func(tr *tree) {
			tr.ms()["bundleDependencies"] = []string{"inner"}
			tr.packages["node_modules/ms/node_modules/inner"] = object{"version": "1.0.0", "inBundle": true}
			tr.packages["node_modules/ms/node_modules/inner/node_modules/y"] = object{"version": "1.0.0", "inBundle": true}
		}, 1},
		{"an alias that package.json asks for", func(tr *tree) {
			tr.manifest["dependencies"] = object{"short": "npm:@scope/long-name@^1"}
			tr.packages[""] = object{"dependencies": object{"short": "npm:@scope/long-name@^1"}}
			tr.add("short", "1.2.0", "https://registry.npmjs.org/@scope/long-name/-/long-name-1.2.0.tgz")
			tr.packages["node_modules/short"].(object)["name"] = "@scope/long-name"
		}, 2},
		{"an alias that a dependency asks for", func(tr *tree) {
			tr.ms()["dependencies"] = object{"string-width-cjs": "npm:string-width@^4.2.0"}
			tr.add("string-width-cjs", "4.2.3", "https://registry.npmjs.org/string-width/-/string-width-4.2.3.tgz")
			tr.packages["node_modules/string-width-cjs"].(object)["name"] = "string-width"
		}, 2},
		{"an alias from a nested override", func(tr *tree) {
			tr.manifest["overrides"] = object{"ms@2": object{".": "2.1.3", "old": "npm:new@1"}}
			tr.add("old", "1.0.0", "https://registry.npmjs.org/new/-/new-1.0.0.tgz")
			tr.packages["node_modules/old"].(object)["name"] = "new"
		}, 2},
		{"an integrity with a weaker hash beside it", func(tr *tree) { tr.ms()["integrity"] = "sha1-OLmVNPpiGwlAQKkjZFGfHKuZfdE= " + hash }, 1},
		{"tags, ranges and aliases as specifiers", func(tr *tree) {
			tr.manifest["devDependencies"] = object{"a": "latest", "b": "^1 || ~2.3", "c": "", "d": "*", "e": "npm:f", "g": "1.0.0-rc.1+b"}
		}, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tr := newTree()
			c.change(tr)
			got, err := Detect(tr.root(t))
			if err != nil || got.Packages != c.packages {
				t.Errorf("got %d packages, %v; want %d", got.Packages, err, c.packages)
			}
		})
	}
}

// add locks one more package.
func (tr *tree) add(at, version, resolved string) {
	tr.packages["node_modules/"+at] = object{"version": version, "resolved": resolved, "integrity": hash}
}

func TestRefuses(t *testing.T) {
	dependency := func(spec string) func(*tree) {
		return func(tr *tree) { tr.manifest["dependencies"] = object{"ms": spec} }
	}
	resolved := func(url string) func(*tree) { return func(tr *tree) { tr.ms()["resolved"] = url } }
	integrity := func(value any) func(*tree) { return func(tr *tree) { tr.ms()["integrity"] = value } }
	script := func(value any) func(*tree) { return func(tr *tree) { tr.manifest["scripts"] = object{"test": value} } }
	manager := func(value any) func(*tree) { return func(tr *tree) { tr.manifest["packageManager"] = value } }
	cases := []struct {
		name    string
		change  func(*tree)
		detail  v1alpha1.Detail
		subject string
	}{
		{"no package.json", func(tr *tree) { tr.manifest = nil }, v1alpha1.DetailMissingManifest, Manifest},
		{"no lockfile", func(tr *tree) { tr.lock = nil }, v1alpha1.DetailMissingLockfile, Lockfile},
		{"package.json is no JSON", func(tr *tree) { tr.manifest = nil; tr.files[Manifest] = "{" }, v1alpha1.DetailInvalidManifest, Manifest},
		{"package.json repeats a key", func(tr *tree) { tr.manifest = nil; tr.files[Manifest] = `{"name":"a","name":"b"}` }, v1alpha1.DetailInvalidManifest, Manifest},
		{"package.json is a symlink", func(tr *tree) {
			tr.manifest = nil
			tr.names = []model.Entry{{Name: Manifest, Type: model.EntrySymlink}}
		}, v1alpha1.DetailInvalidManifest, Manifest},
		{"package-lock.json is too large to have been read", func(tr *tree) {
			tr.lock = nil
			tr.names = []model.Entry{{Name: Lockfile, Type: model.EntryFile, Size: maxLockfile + 1}}
		}, v1alpha1.DetailInvalidLockfile, Lockfile},
		{"package-lock.json is no JSON", func(tr *tree) { tr.lock = nil; tr.files[Lockfile] = "<<<<<<< HEAD" }, v1alpha1.DetailInvalidLockfile, Lockfile},
		{"dependencies are a list", func(tr *tree) { tr.manifest["dependencies"] = []string{"ms"} }, v1alpha1.DetailInvalidManifest, "dependencies"},

		{"lockfile version 1", func(tr *tree) { tr.lock["lockfileVersion"] = 1 }, v1alpha1.DetailUnsupportedLockfile, "lockfileVersion"},
		{"lockfile version 4", func(tr *tree) { tr.lock["lockfileVersion"] = 4 }, v1alpha1.DetailUnsupportedLockfile, "lockfileVersion"},
		{"lockfile version as text", func(tr *tree) { tr.lock["lockfileVersion"] = "3" }, v1alpha1.DetailInvalidLockfile, "lockfileVersion"},
		{"no packages in the lockfile", func(tr *tree) { delete(tr.lock, "packages") }, v1alpha1.DetailInvalidLockfile, "packages"},
		{"no entry for the project", func(tr *tree) { delete(tr.packages, "") }, v1alpha1.DetailInvalidLockfile, "packages"},
		{"a version that is none", func(tr *tree) { tr.ms()["version"] = "^2" }, v1alpha1.DetailInvalidLockfile, "ms"},

		{"Yarn as packageManager", manager("yarn@4.0.0"), v1alpha1.DetailUnsupportedManager, "packageManager"},
		{"an npm range as packageManager", manager("npm@^10"), v1alpha1.DetailUnsupportedManager, "packageManager"},
		{"packageManager is no string", manager(10), v1alpha1.DetailUnsupportedManager, "packageManager"},

		{"no scripts", func(tr *tree) { delete(tr.manifest, "scripts") }, v1alpha1.DetailNoTestRunner, "scripts.test"},
		{"an empty test script", script("  "), v1alpha1.DetailNoTestRunner, "scripts.test"},
		{"a test script that is no string", script(true), v1alpha1.DetailNoTestRunner, "scripts.test"},
		{"npm's placeholder", script(`echo "Error: no test specified"  && exit 1`), v1alpha1.DetailNoTestRunner, "scripts.test"},

		{"engines as a list", func(tr *tree) { tr.manifest["engines"] = []string{"node >= 20"} }, v1alpha1.DetailRuntimeDeclaration, "engines"},
		{"engines.node as a number", func(tr *tree) { tr.manifest["engines"] = object{"node": 20} }, v1alpha1.DetailRuntimeDeclaration, "engines.node"},
		{".nvmrc is a folder", func(tr *tree) { tr.names = []model.Entry{{Name: ".nvmrc", Type: model.EntryDirectory}} }, v1alpha1.DetailRuntimeDeclaration, ".nvmrc"},

		{"workspaces in package.json", func(tr *tree) { tr.manifest["workspaces"] = []string{"packages/*"} }, v1alpha1.DetailUnsupportedDependency, "workspaces"},
		{"workspaces in the lockfile only", func(tr *tree) { tr.packages[""].(object)["workspaces"] = []string{"p"} }, v1alpha1.DetailUnsupportedDependency, "workspaces"},
		{"a git dependency", dependency("git+https://github.com/vercel/ms.git"), v1alpha1.DetailUnsupportedDependency, "ms"},
		{"a hosted shorthand", dependency("vercel/ms"), v1alpha1.DetailUnsupportedDependency, "ms"},
		{"a hosted prefix", dependency("github:vercel/ms"), v1alpha1.DetailUnsupportedDependency, "ms"},
		{"a URL", dependency("https://registry.npmjs.org/ms/-/ms-2.1.3.tgz"), v1alpha1.DetailUnsupportedDependency, "ms"},
		{"a file", dependency("file:../ms"), v1alpha1.DetailUnsupportedDependency, "ms"},
		{"a bare path", dependency("../ms"), v1alpha1.DetailUnsupportedDependency, "ms"},
		{"the folder itself", dependency("."), v1alpha1.DetailUnsupportedDependency, "ms"},
		{"an archive beside package.json", dependency("ms.TGZ"), v1alpha1.DetailUnsupportedDependency, "ms"},
		{"a workspace protocol", dependency("workspace:*"), v1alpha1.DetailUnsupportedDependency, "ms"},
		{"an alias to a repository", dependency("npm:ms@vercel/ms"), v1alpha1.DetailUnsupportedDependency, "ms"},

		{"a link", func(tr *tree) {
			tr.packages["node_modules/local"] = object{"resolved": "packages/local", "link": true}
		}, v1alpha1.DetailUnsupportedDependency, "local"},
		{"a link that claims to be a string", func(tr *tree) { tr.ms()["link"] = "false" }, v1alpha1.DetailUnsupportedDependency, "ms"},
		{"a folder of the repository as a package", func(tr *tree) { tr.packages["packages/local"] = object{"version": "1.0.0"} }, v1alpha1.DetailUnsupportedDependency, "packages/local"},
		{"a location that climbs", func(tr *tree) { tr.packages["node_modules/../evil"] = object{"version": "1.0.0"} }, v1alpha1.DetailUnsupportedDependency, "node_modules/../evil"},
		{"a package that ships its own lockfile", func(tr *tree) { tr.ms()["hasShrinkwrap"] = true }, v1alpha1.DetailUnsupportedDependency, "ms"},
		{"no resolved URL", func(tr *tree) { delete(tr.ms(), "resolved") }, v1alpha1.DetailUnsupportedDependency, "ms"},
		{"inBundle at the top", func(tr *tree) { delete(tr.ms(), "resolved"); tr.ms()["inBundle"] = true }, v1alpha1.DetailUnsupportedDependency, "ms"},
		{"inBundle inside a package that bundles nothing", func(tr *tree) {
			tr.packages["node_modules/ms/node_modules/inner"] = object{"version": "1.0.0", "inBundle": true}
		}, v1alpha1.DetailUnsupportedDependency, "inner"},
		{"inBundle inside a package that is not locked", func(tr *tree) {
			tr.packages["node_modules/ghost/node_modules/inner"] = object{"version": "1.0.0", "inBundle": true}
		}, v1alpha1.DetailUnsupportedDependency, "inner"},

		{"another host", resolved("https://npm.example.com/ms/-/ms-2.1.3.tgz"), v1alpha1.DetailUnsupportedDependency, "ms"},
		{"a host that starts like the registry's", resolved("https://registry.npmjs.org.example.com/ms/-/ms-2.1.3.tgz"), v1alpha1.DetailUnsupportedDependency, "ms"},
		{"credentials in the URL", resolved("https://registry.npmjs.org@example.com/ms/-/ms-2.1.3.tgz"), v1alpha1.DetailUnsupportedDependency, "ms"},
		{"a port", resolved("https://registry.npmjs.org:443/ms/-/ms-2.1.3.tgz"), v1alpha1.DetailUnsupportedDependency, "ms"},
		{"plain http", resolved("http://registry.npmjs.org/ms/-/ms-2.1.3.tgz"), v1alpha1.DetailUnsupportedDependency, "ms"},
		{"a query", resolved("https://registry.npmjs.org/ms/-/ms-2.1.3.tgz?x"), v1alpha1.DetailUnsupportedDependency, "ms"},
		{"another package with its right hash", resolved("https://registry.npmjs.org/evil/-/evil-2.1.3.tgz"), v1alpha1.DetailUnsupportedDependency, "ms"},
		{"another version with its right hash", resolved("https://registry.npmjs.org/ms/-/ms-2.1.2.tgz"), v1alpha1.DetailUnsupportedDependency, "ms"},
		{"another package's folder", resolved("https://registry.npmjs.org/evil/-/ms-2.1.3.tgz"), v1alpha1.DetailUnsupportedDependency, "ms"},
		{"a scoped package of the same name", resolved("https://registry.npmjs.org/@evil/ms/-/ms-2.1.3.tgz"), v1alpha1.DetailUnsupportedDependency, "ms"},
		{"a git URL", resolved("git+ssh://git@github.com/vercel/ms.git#1c6264b795492e8fdecbc82cb8802fcfbfc08d26"), v1alpha1.DetailUnsupportedDependency, "ms"},
		{"a resolved that is no string", func(tr *tree) { tr.ms()["resolved"] = true }, v1alpha1.DetailUnsupportedDependency, "ms"},
		{"an alias that nobody asks for", func(tr *tree) {
			tr.ms()["name"], tr.ms()["resolved"] = "evil", "https://registry.npmjs.org/evil/-/evil-2.1.3.tgz"
		}, v1alpha1.DetailUnsupportedDependency, "ms"},

		{"no integrity", func(tr *tree) { delete(tr.ms(), "integrity") }, v1alpha1.DetailMissingHash, "ms"},
		{"only SHA-1", integrity("sha1-OLmVNPpiGwlAQKkjZFGfHKuZfdE="), v1alpha1.DetailMissingHash, "ms"},
		{"a short SHA-512", integrity("sha512-AAAA"), v1alpha1.DetailMissingHash, "ms"},
		{"two SHA-512, of which npm takes either", integrity(hash + " " + hash), v1alpha1.DetailMissingHash, "ms"},
		{"a hash with options", integrity(hash + "?x"), v1alpha1.DetailMissingHash, "ms"},
		{"an integrity that is no string", integrity(5), v1alpha1.DetailMissingHash, "ms"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tr := newTree()
			c.change(tr)
			_, err := Detect(tr.root(t))
			ecotest.Refused(t, c.detail, c.subject, err)
		})
	}
}

func TestRefusalsDropHostileNames(t *testing.T) {
	for _, name := range []string{
		"ms\x1b[31m", "https://user:secret@example.com/x", strings.Repeat("a", 300), "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "a\u202eb",
	} {
		tr := newTree()
		tr.manifest["dependencies"] = object{name: "git+https://example.com/x"}
		_, err := Detect(tr.root(t))
		var refused *refusal.Refusal
		if !errors.As(err, &refused) || refused.Subject != "" || strings.Contains(err.Error(), name) {
			t.Errorf("%q: got %v", name, err)
		}
	}
}

func FuzzDetect(f *testing.F) {
	seed := newTree()
	manifest, _ := json.Marshal(seed.manifest)
	lock, _ := json.Marshal(seed.lock)
	f.Add(manifest, lock)
	f.Add([]byte(`{"scripts":{"test":"x"}}`), []byte(`{"lockfileVersion":3,"packages":{"":{}}}`))
	f.Fuzz(func(t *testing.T, manifest, lock []byte) {
		got, err := Detect(model.RootFiles{
			Names:   []model.Entry{{Name: Manifest, Type: model.EntryFile}, {Name: Lockfile, Type: model.EntryFile}},
			Content: map[string][]byte{Manifest: manifest, Lockfile: lock},
		})
		ecotest.OnlyRefusals(t, err)
		if err == nil && got.Packages > strings.Count(string(lock), "{") {
			t.Fatal("more packages than objects")
		}
	})
}

func BenchmarkDetect2000Packages(b *testing.B) {
	tr := newTree()
	for i := range 2000 {
		name := fmt.Sprintf("package-%d", i)
		tr.add(name, "1.0.0", "https://registry.npmjs.org/"+name+"/-/"+name+"-1.0.0.tgz")
	}
	manifest, _ := json.Marshal(tr.manifest)
	lock, _ := json.Marshal(tr.lock)
	root := model.RootFiles{
		Names:   []model.Entry{{Name: Manifest, Type: model.EntryFile}, {Name: Lockfile, Type: model.EntryFile}},
		Content: map[string][]byte{Manifest: manifest, Lockfile: lock},
	}
	b.SetBytes(int64(len(lock)))
	for b.Loop() {
		if _, err := Detect(root); err != nil {
			b.Fatal(err)
		}
	}
}
