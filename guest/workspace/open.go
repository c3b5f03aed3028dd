package workspace

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Errors of reading and writing.
var (
	// ErrNotFound: the file, or a folder on its path, does not exist.
	ErrNotFound = errors.New("no such file")
	// ErrNotRegular: the path leads through or to something that is not a folder or
	// a regular file.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTooLarge: the file holds more than the limit.
	ErrTooLarge = errors.New("file exceeds the limit")
)

// Folder is an open folder.
type Folder struct {
	dir *os.File
}

// Open opens the folder at path, which the caller trusts.
func Open(path string) (*Folder, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open folder %s: %w", path, err)
	}
	return &Folder{dir: os.NewFile(uintptr(fd), path)}, nil
}

// Close releases the folder.
func (f *Folder) Close() error { return f.dir.Close() }

// Read returns the content of the regular file at name, of at most limit bytes.
func (f *Folder) Read(name string, limit int) ([]byte, error) {
	file, err := openBeneath(int(f.dir.Fd()), name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	if info.Size() > int64(limit) {
		return nil, ErrTooLarge
	}
	// The file may grow while it is read.
	data, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	if err != nil {
		return nil, fmt.Errorf("read file: %w", err)
	}
	if len(data) > limit {
		return nil, ErrTooLarge
	}
	return data, nil
}

// openBeneath opens name below dir without following any link. O_NONBLOCK keeps a
// FIFO from blocking; it means nothing to regular files.
func openBeneath(dir int, name string, flags uint64) (*os.File, error) {
	how := &unix.OpenHow{
		Flags:   flags | unix.O_NONBLOCK | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NOCTTY,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	for {
		fd, err := unix.Openat2(dir, name, how)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), name), nil
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			// EAGAIN: a rename raced with the walk.
			continue
		default:
			return nil, translate(err)
		}
	}
}

func translate(err error) error {
	switch {
	case errors.Is(err, unix.ENOENT):
		return ErrNotFound
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EXDEV),
		errors.Is(err, unix.ENXIO), errors.Is(err, unix.EISDIR):
		return ErrNotRegular
	default:
		return fmt.Errorf("open file: %w", err)
	}
}
