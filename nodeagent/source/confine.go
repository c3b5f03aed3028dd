package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// confine leaves this process, which is root in fresh namespaces, with /usr, its
// own work folder and three devices, takes every privilege away, and executes the
// work stage. It returns only on failure.
func confine(dir, uidText string) error {
	uid, err := strconv.ParseUint(uidText, 10, 32)
	if err != nil || uid == 0 {
		return fmt.Errorf("confine: uid %q", uidText)
	}
	// Limits, death signal and identity below belong to the thread that executes.
	runtime.LockOSThread()
	if err := buildRoot(dir); err != nil {
		return fmt.Errorf("confine: %w", err)
	}
	if err := setLimits(); err != nil {
		return fmt.Errorf("confine: %w", err)
	}
	if err := dropPrivileges(int(uid)); err != nil {
		return fmt.Errorf("confine: %w", err)
	}
	err = unix.Exec(selfInRoot, []string{"nodeagent", ChildArgument, workStage}, childEnv())
	return fmt.Errorf("confine: execute: %w", err)
}

// Places in the child's file system.
const (
	selfInRoot = "/child"
	workInRoot = "/work"
	repository = workInRoot + "/repo.git"
)

// childEnv is the whole environment of the child and of every git in it.
func childEnv() []string {
	return []string{
		"PATH=/usr/bin:/usr/sbin:/bin:/sbin", "LC_ALL=C", "TZ=UTC",
		"HOME=" + workInRoot, "TMPDIR=" + workInRoot,
		"GIT_DIR=" + repository, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_ATTR_NOSYSTEM=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0",
		"GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=none", "GIT_PROTOCOL_FROM_USER=0",
		"GIT_ALLOC_LIMIT=" + strconv.Itoa(limitAlloc),
		"GOMAXPROCS=2", "GOTRACEBACK=none",
	}
}

type bind struct {
	from, to string
	flags    uintptr
}

const readOnlyBind = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV

// buildRoot makes a small file system at dir's root folder and moves into it.
func buildRoot(dir string) error {
	root := filepath.Join(dir, rootName)
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("tmpfs", root, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=64k,mode=0755"); err != nil {
		return fmt.Errorf("mount a root: %w", err)
	}
	// By its path: the link in /proc leads into the mounts of the parent.
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	binds := []bind{
		{"/usr", "/usr", readOnlyBind},
		{self, selfInRoot, readOnlyBind},
		{filepath.Join(dir, workName), workInRoot, unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{"/dev/null", "/dev/null", unix.MS_NOSUID | unix.MS_NOEXEC},
		{"/dev/urandom", "/dev/urandom", unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NOEXEC},
	}
	if err := os.Mkdir(filepath.Join(root, "dev"), 0o755); err != nil {
		return err
	}
	for _, name := range []string{"/bin", "/sbin", "/lib", "/lib64"} {
		target, err := os.Readlink(name)
		switch {
		case err == nil:
			if err := os.Symlink(target, root+name); err != nil {
				return err
			}
		case errors.Is(err, fs.ErrNotExist):
		default: // a system whose /bin is a folder of its own
			binds = append(binds, bind{name, name, readOnlyBind})
		}
	}
	for _, b := range binds {
		if err := b.mount(root); err != nil {
			return err
		}
	}
	return enter(root)
}

func (b bind) mount(root string) error {
	info, err := os.Stat(b.from)
	if err != nil {
		return err
	}
	to := root + b.to
	if info.IsDir() {
		err = os.Mkdir(to, 0o755)
	} else {
		err = os.WriteFile(to, nil, 0o644)
	}
	if err != nil {
		return err
	}
	if err := unix.Mount(b.from, to, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s: %w", b.to, err)
	}
	if err := unix.Mount("", to, "", unix.MS_BIND|unix.MS_REMOUNT|b.flags, ""); err != nil {
		return fmt.Errorf("restrict %s: %w", b.to, err)
	}
	return nil
}

func enter(root string) error {
	if err := unix.Chdir(root); err != nil {
		return err
	}
	// The old root lands on top of the new one and goes with all its mounts.
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	if err := unix.Chdir(workInRoot); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "size=64k"); err != nil {
		return fmt.Errorf("make the root read-only: %w", err)
	}
	return nil
}

func setLimits() error {
	for _, l := range []struct {
		resource int
		value    uint64
	}{
		{unix.RLIMIT_AS, limitMemory},
		{unix.RLIMIT_FSIZE, limitFileSize},
		{unix.RLIMIT_NOFILE, limitFiles},
		{unix.RLIMIT_NPROC, limitProcesses},
		{unix.RLIMIT_CPU, limitCPU},
		{unix.RLIMIT_CORE, 0},
	} {
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: l.value, Max: l.value}); err != nil {
			return fmt.Errorf("limit %d: %w", l.resource, err)
		}
	}
	return nil
}

func dropPrivileges(uid int) error {
	for capability := uintptr(0); capability <= unix.CAP_LAST_CAP; capability++ {
		// EINVAL: a kernel that knows fewer.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("drop capability %d: %w", capability, err)
		}
	}
	unix.Umask(0o022)
	// Raw calls: they change this thread, the only one that goes on.
	for _, call := range []struct {
		what      string
		trap, arg uintptr
	}{
		{"groups", unix.SYS_SETGROUPS, 0},
		{"group", unix.SYS_SETRESGID, uintptr(uid)},
		{"user", unix.SYS_SETRESUID, uintptr(uid)},
	} {
		args := [3]uintptr{call.arg, call.arg, call.arg}
		if call.trap == unix.SYS_SETGROUPS {
			args = [3]uintptr{}
		}
		if _, _, errno := unix.RawSyscall(call.trap, args[0], args[1], args[2]); errno != 0 {
			return fmt.Errorf("become the child's %s: %w", call.what, errno)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("forgo new privileges: %w", err)
	}
	// Changing the user cleared it.
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
}
