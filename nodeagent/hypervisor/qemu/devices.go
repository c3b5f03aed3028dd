package qemu

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const kvmPath = "/dev/kvm"

// makeDevices makes devices that only QEMU's uid can open. A /dev/kvm of its own
// means that no group of the node has to be kept, whatever the mode of the node's.
func makeDevices(spec launchSpec, kvm uint64) error {
	if err := unix.Mkdir(stage+"/dev", 0o755); err != nil {
		return fmt.Errorf("make /dev: %w", err)
	}
	devices := map[string]uint64{
		"/dev/null": unix.Mkdev(1, 3), "/dev/zero": unix.Mkdev(1, 5),
		"/dev/random": unix.Mkdev(1, 8), "/dev/urandom": unix.Mkdev(1, 9),
	}
	if kvm != 0 {
		devices[kvmPath] = kvm
	}
	for path, number := range devices {
		if err := unix.Mknod(stage+path, unix.S_IFCHR|0o600, int(number)); err != nil {
			return fmt.Errorf("make %s: %w", path, err)
		}
		if err := unix.Chown(stage+path, int(spec.UID), int(spec.GID)); err != nil {
			return fmt.Errorf("own %s: %w", path, err)
		}
	}
	return nil
}

// kvmDevice returns the number of the node's KVM device, 0 if it is not asked for.
func kvmDevice(spec launchSpec) (uint64, error) {
	if !spec.KVM {
		return 0, nil
	}
	var stat unix.Stat_t
	if err := unix.Stat(kvmPath, &stat); err != nil {
		return 0, fmt.Errorf("%s: %w", kvmPath, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFCHR {
		return 0, fmt.Errorf("%s is not a character device", kvmPath)
	}
	return stat.Rdev, nil
}
