package ecosystem

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

// hooks are all scripts that npm runs by itself around an installation.
func hooks(command string) string {
	var scripts []string
	for _, name := range []string{"preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare", "dependencies"} {
		scripts = append(scripts, fmt.Sprintf("%q: %q", name, command+" "+name))
	}
	return strings.Join(scripts, ", ")
}

// tarball is a package whose scripts, and whose native build, leave a marker.
func tarball(t *testing.T, marker string) []byte {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	for name, content := range map[string]string{
		"package/package.json": fmt.Sprintf(`{"name": "dep", "version": "1.0.0", "bin": {"dep": "run.js", "sh": "run.js"}, "scripts": {%s}}`, hooks("node run.js")),
		"package/run.js":       fmt.Sprintf("#!/usr/bin/env node\nrequire('fs').appendFileSync(%q, 'dep ' + process.argv[2] + '\\n');\n", marker),
		"package/binding.gyp":  fmt.Sprintf("{'variables': {'x': '<!(echo gyp >>%s)'}}", marker),
	} {
		header := &tar.Header{Name: name, Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// plantNode writes what npm or Node might execute or load on the way.
func (w *world) plantNode(marker string) {
	script := fmt.Sprintf("require('fs').appendFileSync(%q, __filename + '\\n');\n", marker)
	shell := fmt.Sprintf("#!/bin/sh\necho \"$0\" >>%q\n", marker)
	for _, name := range []string{"node", "npm", "npx", "sh", "git", "node_modules/.bin/node", "node_modules/.bin/sh", "node_modules/.bin/npm", "node_modules/.hooks/postinstall"} {
		w.write(name, shell)
	}
	for _, name := range []string{"run.js", "npm.js", "index.js", "server.js", "node_modules/dep/run.js", "node_modules/npm/index.js", "node_modules/semver/index.js", ".pnp.loader.mjs"} {
		w.write(name, script)
	}
	w.write(".env", "NODE_OPTIONS=--require=./run.js\nnpm_config_registry=http://example.invalid/\n")
	w.write("binding.gyp", fmt.Sprintf("{'variables': {'x': '<!(echo gyp >>%s)'}}", marker))
	w.write("node.config.json", `{"nodeOptions": {"import": ["./run.js"]}}`)
}

// TestTheRealNPMRunsThePlan has the real npm execute what is planned, in a tree full of
// traps and with a package full of scripts.
func TestTheRealNPMRunsThePlan(t *testing.T) {
	w := emptyWorld(t)
	marker := filepath.Join(w.dir, "marker")
	packed := tarball(t, marker)
	sum := sha512.Sum512(packed)
	w.mirror = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.requests.Add(1)
		if r.URL.Path != "/dep/-/dep-1.0.0.tgz" {
			t.Errorf("npm asks for %s", r.URL)
			http.NotFound(rw, r)
			return
		}
		_, _ = rw.Write(packed)
	}))
	t.Cleanup(w.mirror.Close)
	w.write("package.json", fmt.Sprintf(`{"name": "demo", "version": "1.0.0", "dependencies": {"dep": "1.0.0"},
		"scripts": {"test": "node --test", %s}}`, hooks("node run.js")))
	w.write("package-lock.json", fmt.Sprintf(`{"name": "demo", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {
		"": {"name": "demo", "version": "1.0.0", "hasInstallScript": true, "dependencies": {"dep": "1.0.0"}},
		"node_modules/dep": {"version": "1.0.0", "resolved": "https://registry.npmjs.org/dep/-/dep-1.0.0.tgz",
			"integrity": "sha512-%s", "hasInstallScript": true, "bin": {"dep": "run.js"}}}}`, base64.StdEncoding.EncodeToString(sum[:])))
	w.plantNode(marker)
	detection, err := Detect(readRoot(t, w.tree))
	if err != nil {
		t.Fatal(err)
	}
	plan := PlanFor(detection, v1alpha1.Runtime{}, []string{"a.test.js"}, w.mirror.URL+"/")
	w.provision(plan)
	if ran, err := os.ReadFile(marker); err == nil {
		t.Fatalf("code of the repository or of a package ran while the mirror was in reach:\n%s", ran)
	}
	if _, err := os.Stat(filepath.Join(w.tree, "node_modules/dep/package.json")); err != nil {
		t.Fatalf("nothing was installed: %v", err)
	}
	if _, err := os.Stat(filepath.Join(w.tree, "node_modules/.bin/node")); err == nil {
		t.Error("a committed program is still where npm's PATH finds it")
	}
	before := w.requests.Load()
	for _, c := range plan.Prepare {
		if c.Network != brokerproto.NetworkNone || c.Phase != brokerproto.PhaseVerification {
			t.Errorf("%s has a network", c.Name)
		}
		w.run(c)
	}
	// The traps work: offline, install scripts do run.
	if ran, _ := os.ReadFile(marker); !strings.Contains(string(ran), "dep postinstall") {
		t.Errorf("rebuild ran no install script:\n%s", ran)
	}
	if w.requests.Load() != before {
		t.Error("rebuild asked the mirror")
	}
}

// Names that would redirect npm, pip or uv refuse a tree before anything of it is used.
func TestConfigurationThatRedirectsIsRefused(t *testing.T) {
	for name := range redirecting {
		for _, eco := range []v1alpha1.Ecosystem{v1alpha1.EcosystemNPM, v1alpha1.EcosystemPip, v1alpha1.EcosystemUV} {
			root := readRoot(t, "../../fixtures/ecosystem/"+string(eco)+"/base")
			for _, kind := range []EntryType{EntryFile, EntrySymlink, EntryDirectory} {
				trapped := RootFiles{Content: root.Content, Names: append(root.Names[:len(root.Names):len(root.Names)], Entry{Name: name, Type: kind})}
				if _, err := Detect(trapped); err == nil || !strings.Contains(err.Error(), string(v1alpha1.DetailUnsupportedConfig)) {
					t.Errorf("%s with a %s %s: %v", eco, kind, name, err)
				}
			}
		}
	}
}
