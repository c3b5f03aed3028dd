package registries

import "github.com/ai-dossier/zt-operator/api/v1alpha1"

// Host names of the registries. All are served over https on port 443 only.
const (
	// NPMHost serves npm package documents and tarballs.
	NPMHost = "registry.npmjs.org"
	// PyPIHost serves the simple index.
	PyPIHost = "pypi.org"
	// FilesHost serves the files that the simple index links to.
	FilesHost = "files.pythonhosted.org"
)

// Path patterns, in the syntax that RE2 and POSIX extended expressions share,
// anchored at both ends. They match the path after one percent-decoding, as Squid
// sees it, so a scoped name's %2f is a slash here.
const (
	// NPMDocumentPath is a package document: /name, /@scope/name.
	NPMDocumentPath = `^/(@[a-z0-9][a-z0-9._~-]*/)?[A-Za-z0-9][A-Za-z0-9._~-]*$`
	// NPMTarballPath is a tarball: /[@scope/]name/-/name-<version>.tgz.
	NPMTarballPath = `^/(@[a-z0-9][a-z0-9._~-]*/)?[A-Za-z0-9][A-Za-z0-9._~-]*/-/[A-Za-z0-9][A-Za-z0-9._~-]*-[0-9][0-9A-Za-z.+-]*\.tgz$`
	// PyPISimplePath is one project's page of the simple index.
	PyPISimplePath = `^/simple/[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?/$`
	// FilesPath is a wheel or sdist, or a wheel's metadata file.
	FilesPath = `^/packages/[0-9a-f]{2}/[0-9a-f]{2}/[0-9a-f]{60}/[A-Za-z0-9][A-Za-z0-9._+!-]*\.(whl|tar\.gz|zip)(\.metadata)?$`
)

// Registry is one host and what may be fetched from it.
type Registry struct {
	// Name is short, lower case, and unique; policy rules are called after it.
	Name string
	// Host is the full DNS name.
	Host string
	// Ecosystems whose package managers need the host.
	Ecosystems []v1alpha1.Ecosystem
	// Paths are the patterns of the paths that serve packages.
	Paths []string
}

// All returns the registries in a stable order. The caller owns the result.
func All() []Registry {
	python := []v1alpha1.Ecosystem{v1alpha1.EcosystemPip, v1alpha1.EcosystemUV}
	return []Registry{
		{"npm", NPMHost, []v1alpha1.Ecosystem{v1alpha1.EcosystemNPM}, []string{NPMDocumentPath, NPMTarballPath}},
		{"pypi", PyPIHost, python, []string{PyPISimplePath}},
		{"files", FilesHost, append([]v1alpha1.Ecosystem(nil), python...), []string{FilesPath}},
	}
}
