package lockindex

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/model"
)

const folder = "https://files.pythonhosted.org/packages/d1/d6/3965ed04c63042e047cb6a3e6ed1a63a35087b6a609aa3a15ed8ac56c221/"

func sums(content string) (a Artifact) {
	x, y := sha256.Sum256([]byte(content)), sha512.Sum512([]byte(content))
	return Artifact{SHA256: x[:], SHA512: y[:]}
}

func hex256(content string) string { return "sha256:" + hex.EncodeToString(sums(content).SHA256) }

func sri(content string) string {
	return "sha512-" + base64.StdEncoding.EncodeToString(sums(content).SHA512)
}

func rootOf(files map[string]string) ecosystem.RootFiles {
	root := ecosystem.RootFiles{Content: map[string][]byte{}}
	for name, content := range files {
		root.Names = append(root.Names, ecosystem.Entry{Name: name, Type: ecosystem.EntryFile})
		root.Content[name] = []byte(content)
	}
	return root
}

func npmRoot() ecosystem.RootFiles {
	return rootOf(map[string]string{
		"package.json": `{"engines":{"node":">=20"},"scripts":{"test":"node --test"},"dependencies":{"own":"npm:@scope/pkg@^1.0.0"}}`,
		"package-lock.json": fmt.Sprintf(`{"lockfileVersion":3,"packages":{"":{"dependencies":{"own":"npm:@scope/pkg@^1.0.0"}},
			"node_modules/ms":{"version":"2.1.3","resolved":"https://registry.npmjs.org/ms/-/ms-2.1.3.tgz","integrity":%q},
			"node_modules/own":{"name":"@scope/pkg","version":"1.0.0","resolved":"https://registry.npmjs.org/@scope/pkg/-/pkg-1.0.0.tgz","integrity":%q}}}`,
			sri("ms"), sri("scoped")),
	})
}

func pipRoot() ecosystem.RootFiles {
	return rootOf(map[string]string{"requirements.txt": "Zope.Interface==7.0 --hash=" + hex256("wheel") + " --hash=" + hex256("sdist") +
		"\npytest==9.2.0 --hash=" + hex256("pytest") + "\n"})
}

func uvRoot() ecosystem.RootFiles {
	return rootOf(map[string]string{
		"pyproject.toml": "[project]\nname='demo'\nrequires-python='>=3.11'\n[tool.uv]\npackage=false\n",
		"uv.lock": fmt.Sprintf(`version = 1
[[package]]
name = "demo"
source = { virtual = "." }
[[package]]
name = "pytest"
version = "9.2.0"
source = { registry = "https://pypi.org/simple" }
sdist = { url = "%[1]spytest-9.2.0.tar.gz", hash = "%[2]s" }
wheels = [{ url = "%[1]spytest-9.2.0-py3-none-any.whl", hash = "%[3]s" }]
`, folder, hex256("sdist"), hex256("wheel")),
	})
}

func build(t *testing.T, root ecosystem.RootFiles) *Index {
	t.Helper()
	detection, err := ecosystem.Detect(root)
	if err != nil {
		t.Fatal(err)
	}
	index, err := Build(root, detection)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func TestCheck(t *testing.T) {
	const npmHost = "https://registry.npmjs.org"
	cases := []struct {
		name, root, url, content string
		want                     Finding
	}{
		{"a tarball", "npm", npmHost + "/ms/-/ms-2.1.3.tgz", "ms", Admitted},
		{"a tarball by its path", "npm", "/ms/-/ms-2.1.3.tgz", "ms", Admitted},
		{"an alias under the name it is fetched by", "npm", "/@scope/pkg/-/pkg-1.0.0.tgz", "scoped", Admitted},
		{"a scope with an encoded slash", "npm", npmHost + "/@scope%2fpkg/-/pkg-1.0.0.tgz", "scoped", Admitted},
		{"an alias under its own name", "npm", "/own/-/own-1.0.0.tgz", "scoped", NotInLock},
		{"another version", "npm", "/ms/-/ms-2.1.2.tgz", "ms", NotInLock},
		{"other bytes", "npm", "/ms/-/ms-2.1.3.tgz", "evil", HashMismatch},
		{"the bytes of another entry", "npm", "/ms/-/ms-2.1.3.tgz", "scoped", HashMismatch},
		{"another host", "npm", "https://example.com/ms/-/ms-2.1.3.tgz", "ms", MalformedURL},
		{"a host that only starts alike", "npm", "https://registry.npmjs.org.example.com/ms/-/ms-2.1.3.tgz", "ms", MalformedURL},
		{"no encryption", "npm", "http://registry.npmjs.org/ms/-/ms-2.1.3.tgz", "ms", MalformedURL},
		{"a password", "npm", "https://a:b@registry.npmjs.org/ms/-/ms-2.1.3.tgz", "ms", MalformedURL},
		{"a query", "npm", "/ms/-/ms-2.1.3.tgz?x=y", "ms", MalformedURL},
		{"a fragment", "npm", "/ms/-/ms-2.1.3.tgz#x", "ms", MalformedURL},
		{"a way up", "npm", "/ms/-/../../ms-2.1.3.tgz", "ms", MalformedURL},
		{"an encoded slash that is no scope's", "npm", "/ms%2f-/ms-2.1.3.tgz", "ms", MalformedURL},
		{"a package document", "npm", "/ms", "ms", MalformedURL},
		{"nothing", "npm", "", "ms", MalformedURL},
		{"too long a path", "npm", "/" + strings.Repeat("a", 3000) + "/-/a-1.0.0.tgz", "ms", MalformedURL},

		{"a wheel of a release", "pip", folder + "zope_interface-7.0-py3-none-any.whl", "wheel", Admitted},
		{"a source distribution of the release", "pip", folder + "zope.interface-7.0.0.tar.gz", "sdist", Admitted},
		{"another file of the release", "pip", folder + "zope_interface-7.0-py3-none-any.whl", "evil", HashMismatch},
		{"a hash of another release", "pip", folder + "zope_interface-7.0-py3-none-any.whl", "pytest", HashMismatch},
		{"another release", "pip", folder + "zope_interface-7.1-py3-none-any.whl", "wheel", NotInLock},
		{"a wheel's metadata", "pip", folder + "pytest-9.2.0-py3-none-any.whl.metadata", "x", MetadataOnly},
		{"metadata of what is not locked", "pip", folder + "evil-9.2.0-py3-none-any.whl.metadata", "x", NotInLock},
		{"a file that is no wheel", "pip", folder + "pytest-latest-py3-none-any.whl", "pytest", MalformedURL},
		{"the simple index", "pip", "https://pypi.org/simple/pytest/", "pytest", MalformedURL},
		{"a short folder", "pip", "https://files.pythonhosted.org/packages/pytest-9.2.0-py3-none-any.whl", "pytest", MalformedURL},

		{"a locked wheel", "uv", folder + "pytest-9.2.0-py3-none-any.whl", "wheel", Admitted},
		{"a locked wheel by its path", "uv", strings.TrimPrefix(folder, "https://files.pythonhosted.org") + "pytest-9.2.0-py3-none-any.whl", "wheel", Admitted},
		{"a locked wheel with the source's bytes", "uv", folder + "pytest-9.2.0-py3-none-any.whl", "sdist", HashMismatch},
		{"a locked wheel in another folder", "uv", strings.Replace(folder, "c221", "c222", 1) + "pytest-9.2.0-py3-none-any.whl", "wheel", NotInLock},
		{"a wheel that is not locked", "uv", folder + "pytest-9.2.0-py2-none-any.whl", "wheel", NotInLock},
		{"a locked wheel's metadata", "uv", folder + "pytest-9.2.0-py3-none-any.whl.metadata", "x", MetadataOnly},
	}
	indexes := map[string]*Index{"npm": build(t, npmRoot()), "pip": build(t, pipRoot()), "uv": build(t, uvRoot())}
	for _, c := range cases {
		t.Run(c.root+": "+c.name, func(t *testing.T) {
			artifact := sums(c.content)
			artifact.URL = c.url
			if got := indexes[c.root].Check(artifact); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestWithoutTheRightDigestNothingIsAdmitted(t *testing.T) {
	ms := sums("ms")
	for _, artifact := range []Artifact{
		{URL: "/ms/-/ms-2.1.3.tgz"}, {URL: "/ms/-/ms-2.1.3.tgz", SHA256: ms.SHA256}, {URL: "/ms/-/ms-2.1.3.tgz", SHA512: ms.SHA512[:63]},
	} {
		if got := build(t, npmRoot()).Check(artifact); got != HashMismatch {
			t.Errorf("%+v: got %s", artifact, got)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	digest := sums("x").SHA256
	cases := []struct {
		name      string
		ecosystem v1alpha1.Ecosystem
		locked    []model.Locked
		detail    v1alpha1.Detail
		subject   string
	}{
		{"no digest", v1alpha1.EcosystemUV, []model.Locked{{Name: "a", URL: folder + "a-1-py3-none-any.whl"}}, v1alpha1.DetailMissingHash, "a"},
		{"a digest of another kind", v1alpha1.EcosystemNPM, []model.Locked{{Name: "a", URL: "/a/-/a-1.0.0.tgz", Digests: [][]byte{digest}}}, v1alpha1.DetailMissingHash, "a"},
		{"an address elsewhere", v1alpha1.EcosystemUV, []model.Locked{{Name: "a", URL: "https://example.com/a.whl", Digests: [][]byte{digest}}}, v1alpha1.DetailUnsupportedDependency, "a"},
		{"an address of metadata", v1alpha1.EcosystemUV, []model.Locked{{Name: "a", URL: folder + "a-1-py3-none-any.whl.metadata", Digests: [][]byte{digest}}}, v1alpha1.DetailUnsupportedDependency, "a"},
		{"a version that is none", v1alpha1.EcosystemPip, []model.Locked{{Name: "a", Version: "x", Digests: [][]byte{digest}}}, v1alpha1.DetailInvalidLockfile, "a"},
		{"different digests of one file", v1alpha1.EcosystemPip, []model.Locked{
			{Name: "a", Version: "1", Digests: [][]byte{digest}}, {Name: "A", Version: "1.0", Digests: [][]byte{sums("y").SHA256}},
		}, v1alpha1.DetailLockConflict, "A"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			index := &Index{ecosystem: c.ecosystem, entries: map[string]*entry{}}
			var err error
			for _, l := range c.locked {
				err = index.add(l)
			}
			var failure *Error
			if !errors.As(err, &failure) || failure.Detail != c.detail || failure.Subject != c.subject {
				t.Fatalf("got %v, want %s (%s)", err, c.detail, c.subject)
			}
			if _, ok := v1alpha1.Explain(failure.Detail); !ok {
				t.Errorf("%s is not in the catalogue", failure.Detail)
			}
		})
	}
}

func TestBuildCarriesTheRefusalOfABadLockfile(t *testing.T) {
	root := rootOf(map[string]string{"requirements.txt": "six>=1\n"})
	_, err := Build(root, ecosystem.Detection{Ecosystem: v1alpha1.EcosystemPip})
	var failure *Error
	if !errors.As(err, &failure) || failure.Detail != v1alpha1.DetailUnpinnedRequirement || failure.Subject != "six" {
		t.Errorf("got %v", err)
	}
}

func TestTheSamePackageInTwoPlacesIsOneEntry(t *testing.T) {
	index := &Index{ecosystem: v1alpha1.EcosystemNPM, entries: map[string]*entry{}}
	for range 2 {
		if err := index.add(model.Locked{Name: "ms", URL: "/ms/-/ms-2.1.3.tgz", Digests: [][]byte{sums("ms").SHA512}}); err != nil {
			t.Fatal(err)
		}
	}
	if index.Len() != 1 {
		t.Errorf("%d entries", index.Len())
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("/ms/-/ms-2.1.3.tgz")
	f.Add(folder + "pytest-9.2.0-py3-none-any.whl")
	f.Fuzz(func(t *testing.T, url string) {
		for _, eco := range []v1alpha1.Ecosystem{v1alpha1.EcosystemNPM, v1alpha1.EcosystemPip, v1alpha1.EcosystemUV} {
			index := &Index{ecosystem: eco, entries: map[string]*entry{}}
			if got := index.Check(Artifact{URL: url}); got != NotInLock && got != MalformedURL {
				t.Errorf("an empty index says %s of %q", got, url)
			}
		}
	})
}
