package cacheaudit

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/safetext"
)

// MaxListBytes bounds a list as it is sent: every artifact with its digests and a
// path that is longer than any seen.
const MaxListBytes = MaxArtifacts * 512

// Parse reads a list of at most MaxListBytes. A list that is not whole, or has
// anything but what Make writes, is an error.
func Parse(from io.Reader) (artifacts []Artifact, unfinished int, err error) {
	limited := &io.LimitedReader{R: from, N: MaxListBytes + 1}
	decoder := json.NewDecoder(limited)
	decoder.DisallowUnknownFields()
	var list List
	err = decoder.Decode(&list)
	if err == nil {
		if _, extra := decoder.Token(); !errors.Is(extra, io.EOF) {
			err = errors.New("something follows the list")
		}
	}
	switch {
	case limited.N <= 0:
		return nil, 0, fmt.Errorf("the list is longer than %d bytes", MaxListBytes)
	case err != nil:
		return nil, 0, fmt.Errorf("read the list of cached files: %s", safetext.Line(err.Error(), 200))
	case list.Version != 1:
		return nil, 0, fmt.Errorf("a list of version %d, want 1", list.Version)
	case list.Problem != "":
		return nil, 0, fmt.Errorf("the list is not whole: %s", safetext.Line(list.Problem, 200))
	case list.Artifacts == nil || len(list.Artifacts) > MaxArtifacts:
		return nil, 0, fmt.Errorf("a list of %d files, want one of at most %d", len(list.Artifacts), MaxArtifacts)
	}
	for i := range list.Artifacts {
		if err := list.Artifacts[i].valid(); err != nil {
			return nil, 0, fmt.Errorf("file %d of the list: %w", i, err)
		}
		if i > 0 && list.Artifacts[i-1].Path >= list.Artifacts[i].Path {
			return nil, 0, fmt.Errorf("file %d of the list is out of order", i)
		}
	}
	return list.Artifacts, max(list.Unfinished, 0), nil
}

func (a Artifact) valid() error {
	switch {
	case len(a.Path) == 0 || len(a.Path) > maxPath:
		return fmt.Errorf("a path of %d bytes", len(a.Path))
	case a.Size < 0:
		return fmt.Errorf("a size of %d bytes", a.Size)
	}
	for digest, size := range map[string]int{a.SHA256: 64, a.SHA512: 128} {
		if _, err := hex.DecodeString(digest); digest != "" && (err != nil || len(digest) != size || digest != strings.ToLower(digest)) {
			return errors.New("a digest that is none")
		}
	}
	return nil
}

// Digests are the bytes of both digests, nil for what has none.
func (a Artifact) Digests() (sha256, sha512 []byte) {
	short, errShort := hex.DecodeString(a.SHA256)
	long, errLong := hex.DecodeString(a.SHA512)
	if errShort != nil || errLong != nil || len(short) == 0 || len(long) == 0 {
		return nil, nil
	}
	return short, long
}

// proxpiHost is the folder in which proxpi keeps what it has from the files' host.
const proxpiHost = "files-pythonhosted-org"

// URL is the path at the registry that a file in the cache was fetched from, by the
// layout of the ecosystem's mirror; empty for a file that is in no such place.
func URL(ecosystem v1alpha1.Ecosystem, file string) string {
	if !plain(file) {
		return ""
	}
	if ecosystem == v1alpha1.EcosystemNPM {
		folder, name := path.Split(file)
		if folder == "" {
			return ""
		}
		return "/" + folder + "-/" + name
	}
	rest, ok := strings.CutPrefix(file, proxpiHost+"/")
	if !ok {
		return ""
	}
	return "/" + rest
}
