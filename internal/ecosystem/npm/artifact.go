package npm

import (
	"crypto/sha512"
	"encoding/base64"
	"strings"

	"github.com/ai-dossier/zt-operator/internal/registries"
)

// isTarball reports whether a URL is the registry's tarball of exactly that package
// and version. An equal hash is not enough: whoever edits a lockfile edits both.
func isTarball(url, name, version string) bool {
	path, ok := strings.CutPrefix(url, "https://"+registries.NPMHost+"/")
	if !ok {
		return false
	}
	scope, base, scoped := strings.Cut(name, "/")
	if !scoped {
		scope, base = "", name
	}
	// The registry's file names leave build metadata out.
	version, _, _ = strings.Cut(version, "+")
	file := "/-/" + base + "-" + version + ".tgz"
	if path == name+file {
		return true
	}
	// Older clients wrote a scope's slash percent-encoded.
	return scoped && (path == scope+"%2f"+base+file || path == scope+"%2F"+base+file)
}

// sha512Of returns the SHA-512 of an integrity value that has exactly one, else nil.
// npm takes the strongest algorithm of a value, and any of several hashes of it: two
// would be two packages.
func sha512Of(integrity string) []byte {
	var found []byte
	for _, hash := range strings.Fields(integrity) {
		algorithm, digest, _ := strings.Cut(hash, "-")
		switch algorithm {
		case "sha512":
			raw, err := base64.StdEncoding.Strict().DecodeString(digest)
			if err != nil || len(raw) != sha512.Size || found != nil {
				return nil
			}
			found = raw
		case "sha1", "sha256", "sha384":
		default:
			return nil
		}
	}
	return found
}
