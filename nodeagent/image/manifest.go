package image

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// File is one file of the store that a VM boots from.
type File struct {
	// Path of the file on the node.
	Path string `json:"-"`
	// SHA256 of the content, 64 hex digits; of a sparse file, its sparse digest.
	SHA256 string `json:"sha256"`
	// Size in bytes.
	Size int64 `json:"size"`
	// Sparse is true for a file that is mostly a hole.
	Sparse bool `json:"sparse,omitempty"`
}

// Manifest names everything the VMs of a profile boot from.
type Manifest struct {
	// Digest is the SHA-256 of the manifest's JSON, sha256:….
	Digest string `json:"-"`
	// Recipe names how the files were made.
	Recipe string `json:"recipe"`
	// Kernel of the guest, an uncompressed vmlinux.
	Kernel File `json:"kernel"`
	// Initrd of the guest, which is all of its userland.
	Initrd File `json:"initrd"`
	// DiskBase is the empty file system behind every run disk, a sparse raw ext4.
	DiskBase File `json:"diskBase"`
	// Runtimes are the worker roots by the name of the runtime, erofs.
	Runtimes map[string]File `json:"runtimes"`

	checked *identities
}

const digestPrefix = "sha256:"

// seal gives a manifest its digest and keeps it in the store.
func (s *Store) seal(m *Manifest) error {
	// encoding/json writes fields in order, map keys sorted and no space: the
	// same manifest is the same bytes everywhere.
	encoded, err := json.Marshal(m)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(encoded)
	hexadecimal := hex.EncodeToString(sum[:])
	m.Digest, m.checked = digestPrefix+hexadecimal, s.checked
	return s.replace(s.path(manifestsDir, hexadecimal+".json"), encoded, readOnly)
}

// Load returns the manifest of an earlier Bake by its digest.
func (s *Store) Load(digest string) (*Manifest, error) {
	hexadecimal := strings.TrimPrefix(digest, digestPrefix)
	if !isDigest(hexadecimal) {
		return nil, refuse(v1alpha1.DetailProfileImageMissing, nil, "%q is not the digest of a manifest", digest)
	}
	encoded, err := readOwn(s.path(manifestsDir, hexadecimal+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refuse(v1alpha1.DetailProfileImageMissing, nil, "the node has not baked manifest %s", digest)
	}
	if err != nil {
		return nil, refuse(v1alpha1.DetailProfileImageUntrusted, err, "manifest %s cannot be trusted", digest)
	}
	if sum := sha256.Sum256(encoded); hex.EncodeToString(sum[:]) != hexadecimal {
		return nil, refuse(v1alpha1.DetailProfileImageMismatch, nil, "manifest %s is not what its digest says: bake again", digest)
	}
	m := &Manifest{Digest: digestPrefix + hexadecimal, checked: s.checked}
	if err := json.Unmarshal(encoded, m); err != nil {
		return nil, refuse(v1alpha1.DetailProfileImageMismatch, err, "manifest %s cannot be read: bake again", digest)
	}
	s.locate(&m.Kernel)
	s.locate(&m.Initrd)
	s.locate(&m.DiskBase)
	for name, file := range m.Runtimes {
		s.locate(&file)
		m.Runtimes[name] = file
	}
	return m, nil
}

func (s *Store) locate(f *File) { f.Path = s.path(blobsDir, f.SHA256) }

// files returns every file of the manifest.
func (m *Manifest) files() []File {
	files := []File{m.Kernel, m.Initrd, m.DiskBase}
	for _, root := range m.Runtimes {
		files = append(files, root)
	}
	return files
}
