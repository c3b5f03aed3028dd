package safepath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxDepth bounds how deep a tree is removed: each level holds a file open.
const maxDepth = 256

// RemoveAll removes an entry directly below this folder and all that is below it.
// Links are removed, not followed; a mount point inside is an error. An entry that
// does not exist is none.
func (d *Dir) RemoveAll(name string) error {
	if err := plainName(name); err != nil {
		return err
	}
	return d.removeAll(name, maxDepth)
}

func (d *Dir) removeAll(name string, depth int) error {
	err := unix.Unlinkat(int(d.file.Fd()), name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	path := filepath.Join(d.Path(), name)
	if !errors.Is(err, unix.EISDIR) {
		return &fs.PathError{Op: "unlink", Path: path, Err: err}
	}
	if depth == 0 {
		return &fs.PathError{Op: "remove", Path: path, Err: errors.New("tree is too deep")}
	}
	if err := d.empty(name, depth-1); err != nil {
		return err
	}
	if err := unix.Unlinkat(int(d.file.Fd()), name, unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOENT) {
		return &fs.PathError{Op: "rmdir", Path: path, Err: err}
	}
	return nil
}

func (d *Dir) empty(name string, depth int) error {
	child, err := d.OpenDir(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer child.Close()
	entries, err := child.file.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := child.removeAll(entry, depth); err != nil {
			return err
		}
	}
	return nil
}
