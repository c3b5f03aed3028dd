package safepath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// The functions below take absolute paths and refuse a symbolic link in any
// component of them, the folders of the agent's configuration included.

// MkdirPrivate makes the folder path, which must not exist yet, of mode 0700 and
// with the given owner.
func MkdirPrivate(path string, uid, gid uint32) error {
	return inParent(path, func(parent *Dir, name string) error {
		dir, err := parent.MkdirPrivate(name, uid, gid)
		if err != nil {
			return err
		}
		return dir.Close()
	})
}

// MkdirShared makes the folder path, which must not exist yet, for the agent alone
// to list and write, and for all to pass through (0711): uids of VMs reach their
// private folders below it.
func MkdirShared(path string) error {
	return inParent(path, func(parent *Dir, name string) error {
		dir, err := parent.mkdir(name, 0o711, uint32(os.Geteuid()), uint32(os.Getegid()))
		if err != nil {
			return err
		}
		return dir.Close()
	})
}

// RemoveAll removes path and all below it; links are removed, not followed. It is
// no error if path, or a folder above it, does not exist.
func RemoveAll(path string) error {
	err := inParent(path, func(parent *Dir, name string) error { return parent.RemoveAll(name) })
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// inParent opens the folder that holds path.
func inParent(path string, do func(parent *Dir, name string) error) error {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return fmt.Errorf("path %q is not absolute and clean", path)
	}
	parentPath := filepath.Dir(path)
	fd, err := unix.Openat2(unix.AT_FDCWD, parentPath, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return &fs.PathError{Op: "open", Path: parentPath, Err: err}
	}
	parent := &Dir{file: os.NewFile(uintptr(fd), parentPath)}
	defer parent.Close()
	return do(parent, filepath.Base(path))
}
