package qemu

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// privateMounts gives QEMU a mount namespace of its own, with a /dev that holds
// what it opens and nothing else. A /dev/kvm of its own, owned by QEMU's uid, means
// that no group of the node has to be kept, whatever the node's mode for it is.
func privateMounts(spec launchSpec) error {
	kvm, err := deviceNumber("/dev/kvm")
	if err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("tmpfs", "/dev", "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "size=64k,mode=755"); err != nil {
		return fmt.Errorf("mount /dev: %w", err)
	}
	return makeDevices(spec, kvm)
}

func makeDevices(spec launchSpec, kvm uint64) error {
	devices := map[string]uint64{
		"/dev/null": unix.Mkdev(1, 3), "/dev/zero": unix.Mkdev(1, 5),
		"/dev/random": unix.Mkdev(1, 8), "/dev/urandom": unix.Mkdev(1, 9),
	}
	if kvm != 0 {
		devices["/dev/kvm"] = kvm
	}
	for path, number := range devices {
		if err := unix.Mknod(path, unix.S_IFCHR|0o600, int(number)); err != nil {
			return fmt.Errorf("make %s: %w", path, err)
		}
		if err := unix.Chown(path, int(spec.UID), int(spec.GID)); err != nil {
			return fmt.Errorf("own %s: %w", path, err)
		}
	}
	if err := unix.Mount("", "/dev", "", unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("make /dev read-only: %w", err)
	}
	return nil
}

// deviceNumber returns 0 if there is no such device; QEMU then says so itself if
// it needs it.
func deviceNumber(path string) (uint64, error) {
	var stat unix.Stat_t
	err := unix.Stat(path, &stat)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("stat %s: %w", path, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFCHR {
		return 0, fmt.Errorf("%s is not a character device", path)
	}
	return stat.Rdev, nil
}
