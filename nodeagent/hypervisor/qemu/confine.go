package qemu

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	// systemDir holds QEMU, its libraries and its firmware.
	systemDir = "/usr"
	// stage is where the new root is put together: a folder that always exists and
	// that nothing is bound from.
	stage = "/dev"
)

// confine gives QEMU a root of its own in a private mount namespace: the system's
// programs, the files of this boot and five devices. No /proc, no /etc, no /run: a
// QEMU that a guest has taken over finds no token, no socket and no other process.
func confine(spec launchSpec) error {
	kvm, err := kvmDevice(spec)
	if err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWIPC); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("root", stage, "tmpfs", unix.MS_NOSUID, "size=256k,mode=755"); err != nil {
		return fmt.Errorf("mount the root: %w", err)
	}
	if err := populate(spec, kvm); err != nil {
		return err
	}
	return enter(stage)
}

func populate(spec launchSpec, kvm uint64) error {
	if err := showSystem(); err != nil {
		return err
	}
	for _, path := range spec.Visible {
		if err := bind(path, unix.MS_RDONLY); err != nil {
			return err
		}
	}
	if err := bind(spec.Dir, unix.MS_NOEXEC); err != nil {
		return err
	}
	return makeDevices(spec, kvm)
}

// showSystem binds the system folder, and the old names of its parts, which are
// links into it on a merged system and folders elsewhere.
func showSystem() error {
	paths := []string{systemDir, "/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/etc/ld.so.cache"}
	for _, path := range paths {
		info, err := os.Lstat(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if info.Mode()&os.ModeSymlink != 0 {
			err = copyLink(path)
		} else {
			err = bind(path, unix.MS_RDONLY)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func copyLink(path string) error {
	target, err := os.Readlink(path)
	if err != nil {
		return err
	}
	return os.Symlink(target, stage+path)
}

// bind shows a file or folder at its own path in the new root.
func bind(path string, flags uintptr) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	target := stage + path
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	if info.IsDir() {
		err = os.MkdirAll(target, 0o755)
	} else {
		err = touch(target)
	}
	if err != nil {
		return err
	}
	if err := unix.Mount(path, target, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("show %s: %w", path, err)
	}
	flags |= unix.MS_BIND | unix.MS_REMOUNT | unix.MS_NOSUID | unix.MS_NODEV
	if err := unix.Mount("", target, "", flags, ""); err != nil {
		return fmt.Errorf("restrict %s: %w", path, err)
	}
	return nil
}

func touch(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// enter makes the stage the root, read-only, and lets go of the old one.
func enter(root string) error {
	if err := unix.Chdir(root); err != nil {
		return err
	}
	// The old root is stacked on the new one, and so comes off without a folder to
	// put it in.
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let go of the old root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID, ""); err != nil {
		return fmt.Errorf("make the root read-only: %w", err)
	}
	return nil
}
