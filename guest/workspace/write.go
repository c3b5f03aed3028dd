package workspace

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// temporary is the name under which a file is written before it takes its place.
const temporary = ".zt-put"

// Write writes data to name with the given permission bits, for the given owner. It
// replaces a regular file, refuses anything else that stands there, and makes
// missing folders. The file appears whole or not at all.
func (f *Folder) Write(name string, data []byte, mode uint32, owner int) error {
	parent, err := f.openParent(path.Dir(name), owner)
	if err != nil {
		return err
	}
	defer parent.Close()
	dir, base := int(parent.Fd()), path.Base(name)
	if err := replaceable(dir, base); err != nil {
		return err
	}
	if err := writeNew(dir, temporary, data, mode, owner); err != nil {
		return err
	}
	if err := unix.Renameat(dir, temporary, dir, base); err != nil {
		return errors.Join(fmt.Errorf("write file: %w", err), unix.Unlinkat(dir, temporary, 0))
	}
	return nil
}

// openParent opens the folder at name step by step and makes what is missing.
func (f *Folder) openParent(name string, owner int) (*os.File, error) {
	current, err := openBeneath(int(f.dir.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil || name == "." {
		return current, err
	}
	for step := range strings.SplitSeq(name, "/") {
		next, err := enter(int(current.Fd()), step, owner)
		current.Close()
		if err != nil {
			return nil, err
		}
		current = next
	}
	return current, nil
}

func enter(dir int, name string, owner int) (*os.File, error) {
	folder, err := openBeneath(dir, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if !errors.Is(err, ErrNotFound) {
		return folder, err
	}
	if err := unix.Mkdirat(dir, name, 0o755); err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	if err := unix.Fchownat(dir, name, owner, owner, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	return openBeneath(dir, name, unix.O_RDONLY|unix.O_DIRECTORY)
}

// replaceable wants nothing, or a regular file, at name.
func replaceable(dir int, name string) error {
	var stat unix.Stat_t
	err := unix.Fstatat(dir, name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case err != nil:
		return fmt.Errorf("write file: %w", err)
	case stat.Mode&unix.S_IFMT != unix.S_IFREG:
		return ErrNotRegular
	}
	return nil
}

// writeNew writes a file that did not exist; what a worker left under the name is
// removed first.
func writeNew(dir int, name string, data []byte, mode uint32, owner int) error {
	if err := unix.Unlinkat(dir, name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("write file: %w", err)
	}
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	file := os.NewFile(uintptr(fd), name)
	_, err = file.Write(data)
	err = errors.Join(err, unix.Fchown(fd, owner, owner), unix.Fchmod(fd, mode), file.Close())
	if err != nil {
		return errors.Join(fmt.Errorf("write file: %w", err), unix.Unlinkat(dir, name, 0))
	}
	return nil
}
