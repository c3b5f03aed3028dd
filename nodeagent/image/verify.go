package image

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// Verify proves that every file of the manifest is what was baked: regular, ours,
// writable by nobody else, and with the digest it is named by. A file is hashed once
// per process, and again as soon as its inode, size or times differ.
// Its error is an *Error; the next Bake makes a file again that failed here.
func (m *Manifest) Verify() error {
	for _, file := range m.files() {
		if err := m.checked.verify(file); err != nil {
			return err
		}
	}
	return nil
}

// identity changes whenever a file is replaced or written: a writer can set any
// time but the change time.
type identity struct {
	device, inode          uint64
	size                   int64
	modifiedAt, changedAt  int64
	owner, mode, linkCount uint64
}

func identityOf(file *os.File) (identity, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return identity{}, err
	}
	return identity{
		device: st.Dev, inode: st.Ino, size: st.Size,
		modifiedAt: st.Mtim.Nano(), changedAt: st.Ctim.Nano(),
		owner: uint64(st.Uid), mode: uint64(st.Mode), linkCount: st.Nlink,
	}, nil
}

// identities remembers, for this process, which files were hashed.
type identities struct {
	mu   sync.Mutex
	seen map[string]identity // by path; the zero identity if the hash was wrong
}

func newIdentities() *identities { return &identities{seen: map[string]identity{}} }

type knowledge int

const (
	unknown knowledge = iota
	knownGood
	knownBad
)

// known says what the last look at a file found.
func (i *identities) known(f File) knowledge {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch id, ok := i.seen[f.Path]; {
	case !ok:
		return unknown
	case id == identity{}:
		return knownBad
	default:
		return knownGood
	}
}

// good records an open file whose digest was just computed.
func (i *identities) good(f File, file *os.File) {
	id, err := identityOf(file)
	if err != nil {
		return // it will be hashed again
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.seen[f.Path] = id
}

// verify holds the mutex while it hashes: whoever comes second needs the answer.
func (i *identities) verify(f File) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	file, err := open(f)
	if err != nil {
		i.seen[f.Path] = identity{}
		return err
	}
	defer file.Close()
	id, err := identityOf(file)
	if err != nil {
		return refuse(v1alpha1.DetailNodeError, err, "stat %s", f.Path)
	}
	if i.seen[f.Path] == id {
		return nil
	}
	digest, err := digestOf(file, f.Sparse)
	if err != nil {
		return refuse(v1alpha1.DetailNodeError, err, "read %s", f.Path)
	}
	if digest != f.SHA256 {
		i.seen[f.Path] = identity{}
		return refuse(v1alpha1.DetailProfileImageMismatch, nil,
			"%s is not what was baked: its digest is %s; it is baked again from the registry", f.Path, digest)
	}
	i.seen[f.Path] = id
	return nil
}

// open opens a file of the store if all but its content is as it must be.
func open(f File) (*os.File, error) {
	file, err := os.OpenFile(f.Path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, refuse(v1alpha1.DetailProfileImageMissing, nil, "%s is gone: bake again", f.Path)
	case err != nil:
		return nil, refuse(v1alpha1.DetailProfileImageUntrusted, err, "%s cannot be trusted: remove it and bake again", f.Path)
	}
	err = trusted(file)
	if err == nil {
		info, statErr := file.Stat()
		if statErr == nil && info.Size() == f.Size {
			return file, nil
		}
		file.Close()
		return nil, refuse(v1alpha1.DetailProfileImageMismatch, statErr, "%s is not what was baked: its size differs", f.Path)
	}
	file.Close()
	return nil, refuse(v1alpha1.DetailProfileImageUntrusted, err, "%s cannot be trusted: remove it and bake again", f.Path)
}

// inspect is open for those who only want to know.
func inspect(f File) error {
	file, err := open(f)
	if err != nil {
		return err
	}
	return file.Close()
}

// trusted proves that an open file is regular, ours and writable by nobody else.
func trusted(file *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return err
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return errors.New("not a regular file")
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("owned by uid %d, not by us", st.Uid)
	case st.Mode&0o022 != 0:
		return fmt.Errorf("writable by group or others, mode %04o", st.Mode&0o7777)
	}
	return nil
}
