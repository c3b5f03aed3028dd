package image

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// materialise writes a tree into an empty folder, relative to open folders and
// without ever resolving a path. spool and root are open folders on one file
// system; files are hard links to the spooled ones.
func materialise(tree *inode, spool, root int) error {
	for _, name := range slices.Sorted(maps.Keys(tree.entries)) {
		node := tree.entries[name]
		if err := place(node.inode, name, spool, root); err != nil {
			return err
		}
	}
	// Last, so that a folder without write permission can still be filled.
	return unix.Fchmod(root, unixMode(tree.mode))
}

func place(node *inode, name string, spool, folder int) error {
	switch {
	case node.mode.IsDir():
		return placeFolder(node, name, spool, folder)
	case node.mode&fs.ModeSymlink != 0:
		if err := unix.Symlinkat(node.target, folder, name); err != nil {
			return fmt.Errorf("link %q: %w", name, err)
		}
		return nil
	default:
		source := strconv.Itoa(node.content)
		if err := unix.Fchmodat(spool, source, unixMode(node.mode), 0); err != nil {
			return fmt.Errorf("set the mode of %q: %w", name, err)
		}
		if err := unix.Linkat(spool, source, folder, name, 0); err != nil {
			return fmt.Errorf("place %q: %w", name, err)
		}
		return nil
	}
}

func placeFolder(node *inode, name string, spool, folder int) error {
	if err := unix.Mkdirat(folder, name, 0o700); err != nil {
		return fmt.Errorf("make %q: %w", name, err)
	}
	fd, err := unix.Openat(folder, name, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %q: %w", name, err)
	}
	defer unix.Close(fd)
	return materialise(node, spool, fd)
}

func unixMode(mode fs.FileMode) uint32 {
	m := uint32(mode.Perm())
	if mode&fs.ModeSticky != 0 {
		m |= 0o1000
	}
	return m
}
