package npm

import (
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/ecosystem/ecotest"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/model"
	"github.com/ai-dossier/zt-operator/internal/testneeds"
)

// TestListsWhatTheRealNPMReads compares the fetched artifacts with what npm finds in
// the same lockfile.
func TestListsWhatTheRealNPMReads(t *testing.T) {
	npm := testneeds.Tool(t, "npm")
	various := newTree()
	various.manifest["dependencies"] = object{"ms": "^2.1.0", "own": "npm:@scope/pkg@^1.0.0", "big": "1.0.0"}
	various.packages[""].(object)["dependencies"] = various.manifest["dependencies"]
	release := func(name, version string) object {
		_, base, scoped := strings.Cut(name, "/")
		if !scoped {
			base = name
		}
		return object{"version": version, "resolved": "https://registry.npmjs.org/" + name + "/-/" + base + "-" + version + ".tgz", "integrity": hash}
	}
	aliased := release("@scope/pkg", "1.0.0")
	aliased["name"] = "@scope/pkg"
	aliased["dependencies"] = object{"ms": "^1.0.0"}
	bundling := release("big", "1.0.0")
	bundling["bundleDependencies"] = []string{"inner"}
	bundling["dependencies"] = object{"inner": "1.0.0"}
	various.packages["node_modules/own"] = aliased
	various.packages["node_modules/own/node_modules/ms"] = release("ms", "1.0.0")
	various.packages["node_modules/big"] = bundling
	various.packages["node_modules/big/node_modules/inner"] = object{"version": "1.0.0", "inBundle": true}

	fixture := newTree()
	for name, into := range map[string]*object{Manifest: &fixture.manifest, Lockfile: &fixture.lock} {
		data, err := os.ReadFile("../../../fixtures/ecosystem/npm/base/" + name)
		if err != nil {
			t.Fatal(err)
		}
		*into = object{}
		if err := json.Unmarshal(data, into); err != nil {
			t.Fatal(err)
		}
	}
	for name, root := range map[string]model.RootFiles{
		"a small tree": newTree().root(t), "an alias, a nested version and a bundle": various.root(t), "the fixture": fixture.root(t),
	} {
		t.Run(name, func(t *testing.T) {
			artifacts, err := Artifacts(root)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range artifacts {
				got = append(got, a.URL+" sha512-"+base64.StdEncoding.EncodeToString(a.Digests[0]))
			}
			slices.Sort(got)
			if want := queried(t, npm, root); !slices.Equal(got, want) || len(got) == 0 {
				t.Errorf("got\n%s\nnpm reads\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
	if len(hash) != len("sha512-")+base64.StdEncoding.EncodedLen(sha512.Size) {
		t.Error("the digest of these tests is none")
	}
}

// queried returns what npm says is resolved to a URL.
func queried(t *testing.T, npm string, root model.RootFiles) []string {
	t.Helper()
	dir := ecotest.Folder(t, root)
	cmd := exec.Command(npm, "query", "*", "--package-lock-only", "--offline")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir)
	var nodes []struct{ Resolved, Integrity string }
	if err := json.Unmarshal(ecotest.Output(t, cmd), &nodes); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, node := range nodes {
		if strings.HasPrefix(node.Resolved, "https://") {
			all = append(all, node.Resolved+" "+node.Integrity)
		}
	}
	slices.Sort(all)
	return all
}
