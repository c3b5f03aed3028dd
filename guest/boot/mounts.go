package boot

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

type mount struct {
	source, target, fstype string
	flags                  uintptr
	data                   string
}

func (m mount) do() error {
	if err := os.MkdirAll(m.target, 0o755); err != nil {
		return fmt.Errorf("mount %s: %w", m.target, err)
	}
	if err := unix.Mount(m.source, m.target, m.fstype, m.flags, m.data); err != nil {
		return fmt.Errorf("mount %s: %w", m.target, err)
	}
	return nil
}

func mountAll(mounts []mount) error {
	for _, m := range mounts {
		if err := m.do(); err != nil {
			return err
		}
	}
	return nil
}

const locked = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC

// mountKernel mounts what the agent needs to find its port.
func mountKernel() error {
	return mountAll([]mount{
		{"proc", "/proc", "proc", locked, ""},
		{"sysfs", "/sys", "sysfs", locked, ""},
		{"devtmpfs", "/dev", "devtmpfs", unix.MS_NOSUID | unix.MS_NOEXEC, "mode=0755"},
	})
}

// newRoot is where the root that the agent lives in is put together.
const newRoot = "/newroot"

// switchRoot moves PID 1 from the initramfs onto a tmpfs: pivot_root, by which
// crun enters a container, cannot leave an initramfs. Programs stay where they are
// and are bound into the new root.
func switchRoot() error {
	err := mountAll([]mount{
		{"tmpfs", newRoot, "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=0755,size=64m"},
		{"/usr", newRoot + "/usr", "", unix.MS_BIND, ""},
		{"", newRoot + "/usr", "", unix.MS_REMOUNT | unix.MS_BIND | unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV, ""},
		{"/proc", newRoot + "/proc", "", unix.MS_MOVE, ""},
		{"/sys", newRoot + "/sys", "", unix.MS_MOVE, ""},
		{"/dev", newRoot + "/dev", "", unix.MS_MOVE, ""},
	})
	if err != nil {
		return err
	}
	for link, target := range map[string]string{"/lib": "usr/lib", "/lib64": "usr/lib64"} {
		if err := os.Symlink(target, newRoot+link); err != nil {
			return fmt.Errorf("switch root: %w", err)
		}
	}
	if err := os.Chdir(newRoot); err != nil {
		return fmt.Errorf("switch root: %w", err)
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("switch root: move: %w", err)
	}
	if err := unix.Chroot("."); err != nil {
		return fmt.Errorf("switch root: chroot: %w", err)
	}
	return os.Chdir("/")
}
