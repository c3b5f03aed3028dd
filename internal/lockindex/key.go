package lockindex

import (
	"regexp"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/model"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/pypi"
	"github.com/ai-dossier/zt-operator/internal/registries"
)

var (
	tarballPath = regexp.MustCompile(registries.NPMTarballPath)
	filePath    = regexp.MustCompile(registries.FilesPath)
)

// maxURL bounds what is looked at, in bytes.
const maxURL = 2048

// host of the registry that serves artifacts.
func (x *Index) host() string {
	if x.ecosystem == v1alpha1.EcosystemNPM {
		return registries.NPMHost
	}
	return registries.FilesHost
}

// keyOf returns the key of the artifact at a URL or path. metadata is true for the
// metadata file beside a wheel.
func (x *Index) keyOf(url string) (key string, metadata, ok bool) {
	path, ok := x.pathOf(url)
	if !ok {
		return "", false, false
	}
	if x.ecosystem == v1alpha1.EcosystemNPM {
		return path, false, tarballPath.MatchString(path)
	}
	if !filePath.MatchString(path) {
		return "", false, false
	}
	path, metadata = strings.CutSuffix(path, ".metadata")
	if x.ecosystem == v1alpha1.EcosystemUV {
		return path, metadata, true
	}
	file, ok := pypi.ParseFile(path[strings.LastIndexByte(path, '/')+1:])
	return release(file.Name, file.Version), metadata, ok
}

// pathOf returns the path of a URL of the registry, with a scope's encoded slash
// decoded. Whatever else is encoded, or more than a path, is not an artifact.
func (x *Index) pathOf(url string) (string, bool) {
	if len(url) > maxURL {
		return "", false
	}
	if !strings.HasPrefix(url, "/") {
		rest, ok := strings.CutPrefix(url, "https://"+x.host()+"/")
		if !ok {
			return "", false
		}
		url = "/" + rest
	}
	if x.ecosystem == v1alpha1.EcosystemNPM && strings.HasPrefix(url, "/@") {
		url = strings.Replace(url, "%2f", "/", 1)
		url = strings.Replace(url, "%2F", "/", 1)
	}
	return url, !strings.Contains(url, "..")
}

func (x *Index) keyOfLocked(l model.Locked) (string, error) {
	if x.ecosystem == v1alpha1.EcosystemPip {
		version, ok := pypi.CanonicalVersion(l.Version)
		name := pypi.NormalName(l.Name)
		if !ok || name == "" {
			return "", failed(v1alpha1.DetailInvalidLockfile, l.Name, "its name or version is not one of the index")
		}
		return release(name, version), nil
	}
	key, metadata, ok := x.keyOf(l.URL)
	if !ok || metadata {
		return "", failed(v1alpha1.DetailUnsupportedDependency, l.Name, "it is not fetched from an artifact's address at the registry")
	}
	return key, nil
}

// release is pip's key: its lockfiles have no file names.
func release(name, version string) string { return name + " " + version }
