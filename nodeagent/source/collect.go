package source

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxDisk bounds a tree's disk: its content, and a block and an inode per file.
const maxDisk = MaxTreeBytes + MaxFiles*8192

// collect moves the disk that the child left to path and takes it over. The child
// is gone, and nobody else reaches its folder; yet what it left may be anything.
func (b *sandbox) collect(path string) error {
	work, err := os.OpenRoot(filepath.Join(b.dir, workName))
	if err != nil {
		return err
	}
	defer work.Close()
	defer func() { _ = work.RemoveAll(diskName) }() // Close removes what resists
	file, err := work.OpenFile(diskName, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("the source reader left no disk: %w", err)
	}
	defer file.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Uid != b.uid || st.Nlink != 1 || st.Size == 0 || st.Size > maxDisk {
		return errors.New("what the source reader left is no disk")
	}
	if err := file.Chown(os.Geteuid(), os.Getegid()); err != nil {
		return err
	}
	if err := file.Chmod(0o444); err != nil {
		return err
	}
	// A link, not a rename: it never replaces anything.
	err = os.Link(filepath.Join(b.dir, workName, diskName), path)
	if errors.Is(err, unix.EXDEV) {
		return copyNew(file, path)
	}
	return err
}

func copyNew(from *os.File, path string) error {
	to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|unix.O_NOFOLLOW, 0o444)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if closing := to.Close(); err == nil {
		err = closing
	}
	if err != nil {
		_ = os.Remove(path)
	}
	return err
}
