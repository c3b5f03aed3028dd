package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// The store's layout. QEMU's unprivileged uid opens blobs by their full path, so
// folders on the way are searchable by all and listable by none but us.
const (
	blobsDir     = "blobs"     // content by SHA-256, mode 0444
	manifestsDir = "manifests" // manifests by SHA-256, mode 0444
	recordsDir   = "records"   // what was made of which input, mode 0600
	stagingDir   = "staging"   // work in progress, mode 0700
	lockFile     = "bake.lock"

	searchable fs.FileMode = 0o711
	private    fs.FileMode = 0o700
	readOnly   fs.FileMode = 0o444
)

// Store is the node's images, in one directory of its own. It is safe for
// concurrent use, by several processes too.
type Store struct {
	dir     string
	checked *identities
	limits  limits
}

// Open opens the store in dir, an absolute path, and makes it if it is missing.
// A directory that is a link, another user's, or writable by others is refused.
func Open(dir string) (*Store, error) {
	if !filepath.IsAbs(dir) {
		return nil, refuse(v1alpha1.DetailNodeError, nil, "image store %q: the path must be absolute", dir)
	}
	s := &Store{dir: filepath.Clean(dir), checked: newIdentities(), limits: defaultLimits}
	folders := []struct {
		path string
		mode fs.FileMode
	}{
		{s.dir, searchable},
		{s.path(blobsDir), searchable},
		{s.path(manifestsDir), private},
		{s.path(recordsDir), private},
		{s.path(stagingDir), private},
	}
	for _, folder := range folders {
		if err := ownFolder(folder.path, folder.mode); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Store) path(elem ...string) string {
	return filepath.Join(append([]string{s.dir}, elem...)...)
}

// ownFolder makes a folder of this user alone, or proves that it is one.
func ownFolder(path string, mode fs.FileMode) error {
	if err := os.Mkdir(path, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return refuse(v1alpha1.DetailNodeError, err, "image store: make %s", path)
	}
	fd, err := unix.Open(path, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return refuse(v1alpha1.DetailProfileImageUntrusted, err,
			"image store: %s must be a plain folder, not a link; remove it", path)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return refuse(v1alpha1.DetailNodeError, err, "image store: stat %s", path)
	}
	if int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		return refuse(v1alpha1.DetailProfileImageUntrusted, nil,
			"image store: %s is owned by uid %d with mode %04o; it must be ours and writable by nobody else",
			path, st.Uid, st.Mode&0o7777)
	}
	if err := unix.Fchmod(fd, uint32(mode)); err != nil {
		return refuse(v1alpha1.DetailNodeError, err, "image store: set the mode of %s", path)
	}
	return nil
}

// lock takes the store's one lock; the kernel drops it when its holder dies.
func (s *Store) lock(ctx context.Context, progress func(string)) (unlock func(), err error) {
	file, err := os.OpenFile(s.path(lockFile), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the bake lock: %w", err)
	}
	for waiting := false; ; waiting = true {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			file.Close()
			return nil, fmt.Errorf("take the bake lock: %w", err)
		}
		if !waiting {
			progress("waiting for another bake on this node")
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
