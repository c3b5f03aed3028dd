package lockindex

import (
	"crypto/sha256"
	"crypto/sha512"
	"errors"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/model"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

// Error says why a lockfile has no index: a catalogue code, the entry concerned,
// already safe to show, and a sentence for people.
type Error struct {
	Detail  v1alpha1.Detail
	Subject string
	Message string
}

// Error implements error.
func (e *Error) Error() string {
	return (&refusal.Refusal{Detail: e.Detail, Subject: e.Subject, Message: e.Message}).Error()
}

// Finding is what the index says of one artifact.
type Finding string

const (
	// Admitted: the lockfile names the artifact, and its bytes have that digest.
	Admitted Finding = "admitted"
	// NotInLock: no entry of the lockfile is fetched from there.
	NotInLock Finding = "not_in_lock"
	// HashMismatch: an entry is fetched from there, and these are not its bytes. Also
	// if the digest that the lockfile has was not computed.
	HashMismatch Finding = "hash_mismatch"
	// MalformedURL: it is not the address of an artifact of the ecosystem's registry.
	MalformedURL Finding = "malformed_url"
	// MetadataOnly: it is the metadata file beside a wheel of the lockfile. Lockfiles
	// have no digest for it, and nothing is installed from it.
	MetadataOnly Finding = "metadata_only"
)

// Artifact is one file that a mirror fetched.
type Artifact struct {
	// URL is the registry's URL, or its path alone: /ms/-/ms-2.1.3.tgz,
	// /packages/xx/yy/…/six-1.17.0-py2.py3-none-any.whl.
	URL string
	// SHA256 and SHA512 of the bytes, 32 and 64 of them.
	SHA256 []byte
	SHA512 []byte
}

// Index is the digests of one lockfile. It is read-only and safe for concurrent use.
type Index struct {
	ecosystem v1alpha1.Ecosystem
	entries   map[string]*entry
}

// entry is all that may be served for one key: a URL path, or for pip a name and
// version.
type entry struct {
	sha256 map[[sha256.Size]byte]bool
	sha512 map[[sha512.Size]byte]bool
}

// Build reads the digests of the lockfile of a tree that Detect accepted. Its error
// is an *Error.
func Build(root ecosystem.RootFiles, detection ecosystem.Detection) (*Index, error) {
	locked, err := ecosystem.Artifacts(root, detection)
	if err != nil {
		return nil, asError(err)
	}
	index := &Index{ecosystem: detection.Ecosystem, entries: map[string]*entry{}}
	for _, artifact := range locked {
		if err := index.add(artifact); err != nil {
			return nil, err
		}
	}
	return index, nil
}

// Len counts the distinct artifacts, or for pip the distinct releases.
func (x *Index) Len() int { return len(x.entries) }

// Check judges one artifact.
func (x *Index) Check(artifact Artifact) Finding {
	key, metadata, ok := x.keyOf(artifact.URL)
	if !ok {
		return MalformedURL
	}
	e := x.entries[key]
	switch {
	case e == nil:
		return NotInLock
	case metadata:
		return MetadataOnly
	case len(artifact.SHA256) == sha256.Size && e.sha256[[sha256.Size]byte(artifact.SHA256)],
		len(artifact.SHA512) == sha512.Size && e.sha512[[sha512.Size]byte(artifact.SHA512)]:
		return Admitted
	}
	return HashMismatch
}

func (x *Index) add(l model.Locked) error {
	key, err := x.keyOfLocked(l)
	if err != nil {
		return err
	}
	e := &entry{sha256: map[[sha256.Size]byte]bool{}, sha512: map[[sha512.Size]byte]bool{}}
	for _, digest := range l.Digests {
		switch {
		case x.ecosystem == v1alpha1.EcosystemNPM && len(digest) == sha512.Size:
			e.sha512[[sha512.Size]byte(digest)] = true
		case x.ecosystem != v1alpha1.EcosystemNPM && len(digest) == sha256.Size:
			e.sha256[[sha256.Size]byte(digest)] = true
		default:
			return failed(v1alpha1.DetailMissingHash, l.Name, "its digest is not of the kind that the lockfile has to have")
		}
	}
	if len(l.Digests) == 0 {
		return failed(v1alpha1.DetailMissingHash, l.Name, "it has no digest")
	}
	if before := x.entries[key]; before != nil && !before.equal(e) {
		return failed(v1alpha1.DetailLockConflict, l.Name, "the lockfile has different digests for one and the same file")
	}
	x.entries[key] = e
	return nil
}

func (e *entry) equal(o *entry) bool {
	if len(e.sha256) != len(o.sha256) || len(e.sha512) != len(o.sha512) {
		return false
	}
	for digest := range e.sha256 {
		if !o.sha256[digest] {
			return false
		}
	}
	for digest := range e.sha512 {
		if !o.sha512[digest] {
			return false
		}
	}
	return true
}

func failed(detail v1alpha1.Detail, subject, message string) error {
	return &Error{Detail: detail, Subject: refusal.Subject(subject), Message: message}
}

func asError(err error) error {
	var refused *refusal.Refusal
	if errors.As(err, &refused) {
		return &Error{Detail: refused.Detail, Subject: refused.Subject, Message: refused.Message}
	}
	return &Error{Detail: v1alpha1.DetailInvalidLockfile, Message: err.Error()}
}
