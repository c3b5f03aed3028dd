package lockindex

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/ecosystem"
)

// large makes the lockfiles of 2,000 packages.
func large() map[string]ecosystem.RootFiles {
	var npm, pip, uv strings.Builder
	npm.WriteString(`{"lockfileVersion":3,"packages":{"":{}`)
	uv.WriteString("version = 1\n[[package]]\nname = \"demo\"\nsource = { virtual = \".\" }\ndependencies = [{ name = \"pytest\" }]\n")
	for i := range 2000 {
		name := fmt.Sprintf("p%d", i)
		if i == 0 {
			name = "pytest"
		}
		fmt.Fprintf(&npm, `,"node_modules/%[1]s":{"version":"1.0.0","resolved":"https://registry.npmjs.org/%[1]s/-/%[1]s-1.0.0.tgz","integrity":%[2]q,"dependencies":{"a":"^1.0.0","b":"^2.0.0"},"engines":{"node":">=18"}}`, name, sri(name))
		fmt.Fprintf(&pip, "%s==1.0.0 \\\n", name)
		fmt.Fprintf(&uv, "\n[[package]]\nname = %q\nversion = \"1.0.0\"\nsource = { registry = \"https://pypi.org/simple\" }\ndependencies = [\n    { name = \"p%d\" },\n]\nwheels = [\n", name, i%1999+1)
		for j := range 10 {
			fmt.Fprintf(&pip, "    --hash=%s \\\n", hex256(fmt.Sprint(name, j)))
			fmt.Fprintf(&uv, "    { url = \"%s%s-1.0.0-cp3%d-cp3%d-manylinux_2_17_x86_64.whl\", hash = %q, size = 100, upload-time = \"2026-01-01T00:00:00.000Z\" },\n", folder, name, 5+j, 5+j, hex256(name))
		}
		fmt.Fprintf(&pip, "    --hash=%s\n", hex256(name))
		uv.WriteString("]\n")
	}
	npm.WriteString("}}")
	return map[string]ecosystem.RootFiles{
		"npm": rootOf(map[string]string{"package.json": `{"scripts":{"test":"node --test"}}`, "package-lock.json": npm.String()}),
		"pip": rootOf(map[string]string{"requirements.txt": pip.String()}),
		"uv":  rootOf(map[string]string{"pyproject.toml": "[tool.uv]\npackage = false\n", "uv.lock": uv.String()}),
	}
}

// BenchmarkLargeLockfiles: go test -run - -bench Large ./internal/lockindex
func BenchmarkLargeLockfiles(b *testing.B) {
	for name, root := range large() {
		detection, err := ecosystem.Detect(root)
		if err != nil {
			b.Fatalf("%s: %v", name, err)
		}
		b.Run(name+"/detect", func(b *testing.B) {
			for b.Loop() {
				if _, err := ecosystem.Detect(root); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/index", func(b *testing.B) {
			for b.Loop() {
				if _, err := Build(root, detection); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
