package registries

import (
	"regexp"
	"testing"
)

func TestPatternsAdmitPackagesOnly(t *testing.T) {
	const digits = "ab/cd/" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"
	cases := []struct {
		name, pattern, path string
		want                bool
	}{
		{"a package document", NPMDocumentPath, "/semver", true},
		{"a scoped package document, decoded", NPMDocumentPath, "/@types/node", true},
		{"a document of an old name in capitals", NPMDocumentPath, "/JSONStream", true},
		{"the whoami endpoint", NPMDocumentPath, "/-/whoami", false},
		{"a name with a leading dot", NPMDocumentPath, "/.npmrc", false},
		{"a document with a query", NPMDocumentPath, "/semver?write=true", false},
		{"the root", NPMDocumentPath, "/", false},
		{"a tarball", NPMTarballPath, "/semver/-/semver-7.6.3.tgz", true},
		{"a scoped tarball", NPMTarballPath, "/@babel/core/-/core-7.0.0-beta.1.tgz", true},
		{"a tarball with build metadata", NPMTarballPath, "/a/-/a-1.0.0+x.tgz", true},
		{"a tarball that climbs", NPMTarballPath, "/a/-/../a-1.0.0.tgz", false},
		{"another extension", NPMTarballPath, "/a/-/a-1.0.0.zip", false},
		{"a project page", PyPISimplePath, "/simple/pytest/", true},
		{"a project page without its slash", PyPISimplePath, "/simple/pytest", false},
		{"the root index", PyPISimplePath, "/simple/", false},
		{"the JSON API", PyPISimplePath, "/pypi/pytest/json", false},
		{"a wheel", FilesPath, "/packages/" + digits + "/pytest-8.0.0-py3-none-any.whl", true},
		{"a wheel's metadata", FilesPath, "/packages/" + digits + "/pytest-8.0.0-py3-none-any.whl.metadata", true},
		{"a wheel under a short digest", FilesPath, "/packages/ab/cd/0123/pytest-8.0.0-py3-none-any.whl", false},
		{"a signature", FilesPath, "/packages/" + digits + "/pytest-8.0.0.tar.gz.asc", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := regexp.MustCompile(c.pattern).MatchString(c.path); got != c.want {
				t.Errorf("%q: got %v, want %v", c.path, got, c.want)
			}
		})
	}
}

func TestAllNamesEveryRegistryOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range All() {
		if seen[r.Name] || seen[r.Host] {
			t.Errorf("%s (%s) is listed twice", r.Name, r.Host)
		}
		seen[r.Name], seen[r.Host] = true, true
		if len(r.Paths) == 0 || len(r.Ecosystems) == 0 {
			t.Errorf("%s has no paths or no ecosystems", r.Name)
		}
	}
	for _, host := range []string{NPMHost, PyPIHost, FilesHost} {
		if !seen[host] {
			t.Errorf("%s is not listed", host)
		}
	}
}
