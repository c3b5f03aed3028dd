package safepath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Dir is an open folder. Names given to its methods are relative to it, never
// leave it, and are refused (ELOOP) if any component is a symbolic link; mount
// points are not crossed.
type Dir struct {
	file *os.File
}

// Open opens a trusted base folder: its path comes from the agent's own
// configuration, and links in it are followed.
func Open(base string) (*Dir, error) {
	file, err := os.OpenFile(base, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open base folder: %w", err)
	}
	return &Dir{file: file}, nil
}

// Path is the folder's path when it was opened, for messages and for programs that
// take paths.
func (d *Dir) Path() string { return d.file.Name() }

// Close closes the folder.
func (d *Dir) Close() error { return d.file.Close() }

// maxRetries bounds what someone who renames all the time can cost.
const maxRetries = 128

// openat opens a name below the folder in one call. A magic link or a mount could
// lead out as a link does.
func (d *Dir) openat(name string, flags int, mode fs.FileMode) (*os.File, error) {
	how := &unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC | unix.O_NOFOLLOW),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	}
	if flags&unix.O_CREAT != 0 {
		how.Mode = uint64(mode.Perm())
	}
	path := filepath.Join(d.Path(), name)
	for attempt := 0; ; attempt++ {
		fd, err := unix.Openat2(int(d.file.Fd()), name, how)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), path), nil
		case attempt < maxRetries && (errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN)):
			// The kernel could not rule out a concurrent rename.
		default:
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// OpenDir opens a folder below this one.
func (d *Dir) OpenDir(name string) (*Dir, error) {
	file, err := d.openat(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return &Dir{file: file}, nil
}

// OpenRegular opens a regular file for reading. Anything else, such as a FIFO that
// would block, is refused.
func (d *Dir) OpenRegular(name string) (*os.File, error) {
	file, err := d.openat(name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: file.Name(), Err: errors.New("not a regular file")}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Create makes a file that must not exist yet, in an existing folder, owned by the
// agent.
func (d *Dir) Create(name string, mode fs.FileMode) (*os.File, error) {
	return d.openat(name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, mode)
}

// MkdirPrivate makes a folder of mode 0700 with the given owner, directly below
// this one, and opens it. It must not exist yet.
func (d *Dir) MkdirPrivate(name string, uid, gid uint32) (*Dir, error) {
	return d.mkdir(name, 0o700, uid, gid)
}

// MkdirPassable makes a folder of mode 0711 that the agent owns, directly below
// this one, and opens it: the uids of VMs pass through it to their private folders,
// and can neither list nor change it. It must not exist yet.
func (d *Dir) MkdirPassable(name string) (*Dir, error) {
	return d.mkdir(name, 0o711, uint32(os.Geteuid()), uint32(os.Getegid()))
}

func (d *Dir) mkdir(name string, mode fs.FileMode, uid, gid uint32) (*Dir, error) {
	if err := plainName(name); err != nil {
		return nil, err
	}
	path := filepath.Join(d.Path(), name)
	if err := unix.Mkdirat(int(d.file.Fd()), name, 0o700); err != nil {
		return nil, &fs.PathError{Op: "mkdir", Path: path, Err: err}
	}
	child, err := d.OpenDir(name)
	if err != nil {
		return nil, err
	}
	// By handle: whoever might replace the name meanwhile gains nothing. The mode
	// again, because the umask may have narrowed it.
	err = errors.Join(child.file.Chmod(mode), child.file.Chown(int(uid), int(gid)))
	if err != nil {
		return nil, errors.Join(err, child.Close())
	}
	return child, nil
}

// Chown gives a regular file or folder below this one to an owner. A file with
// more than one name is refused: the other name may be somebody's.
func (d *Dir) Chown(name string, uid, gid uint32) error {
	file, err := d.openat(name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return &fs.PathError{Op: "stat", Path: file.Name(), Err: err}
	}
	kind := stat.Mode & unix.S_IFMT
	if kind != unix.S_IFDIR && (kind != unix.S_IFREG || stat.Nlink != 1) {
		return &fs.PathError{Op: "chown", Path: file.Name(), Err: errors.New("not a folder or a regular file with one name")}
	}
	return file.Chown(int(uid), int(gid))
}

func plainName(name string) error {
	if name == "" || name == "." || name == ".." || filepath.Base(name) != name {
		return fmt.Errorf("%q is not the name of an entry", name)
	}
	return nil
}
