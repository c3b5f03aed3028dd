package qemu

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// dropPrivileges leaves the thread with one uid, one gid, no supplementary group
// and no capability, now or after any execution. Raw calls: the C library's and
// Go's own act on every thread, and only this one lives on.
func dropPrivileges(spec launchSpec) error {
	steps := []func() error{
		dropBoundingSet,
		func() error { return rawSyscall(unix.SYS_SETGROUPS, 0, 0, 0) },
		func() error {
			return rawSyscall(unix.SYS_SETRESGID, uintptr(spec.GID), uintptr(spec.GID), uintptr(spec.GID))
		},
		func() error {
			return rawSyscall(unix.SYS_SETRESUID, uintptr(spec.UID), uintptr(spec.UID), uintptr(spec.UID))
		},
		clearCapabilities,
		func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) },
		checkPrivileges,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func rawSyscall(number, a, b, c uintptr) error {
	if _, _, errno := unix.RawSyscall(number, a, b, c); errno != 0 {
		return errno
	}
	return nil
}

// dropBoundingSet ends at the kernel's last capability, which answers EINVAL.
func dropBoundingSet() error {
	for capability := uintptr(0); ; capability++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) && capability > 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("bounding set: %w", err)
		}
	}
}

// clearCapabilities also clears the inheritable set, which a change of uid keeps,
// and the ambient set, which an agent's own launcher may have filled.
func clearCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("ambient set: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("capability sets: %w", err)
	}
	return nil
}

// checkPrivileges asks the kernel instead of trusting the calls above.
func checkPrivileges() error {
	if unix.Prctl(unix.PR_SET_KEEPCAPS, 0, 0, 0, 0) != nil {
		return errors.New("keepcaps is locked")
	}
	if err := rawSyscall(unix.SYS_SETRESUID, 0, 0, 0); err == nil {
		return errors.New("uid 0 can be regained")
	}
	return nil
}
