package qemu

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The shim's two pipes, by number: its orders, and where it says why it failed.
const (
	specFD   = 3
	statusFD = 4
)

// statusReady is what the shim writes just before it executes QEMU. With the end
// of file that follows, it tells success from a shim that died.
const statusReady = "ready\n"

// launchSpec is what the shim is told. It travels through a pipe.
type launchSpec struct {
	// Parent must be the shim's parent, which PDEATHSIG ties it to.
	Parent int
	// Argv is QEMU's command line; Argv[0] is an absolute path.
	Argv     []string
	UID, GID uint32
	NetNS    string
	Cgroups  []string
	// Dir is the one folder QEMU can write to; Visible are what else it can see.
	Dir     string
	Visible []string
	// KVM shows it a /dev/kvm.
	KVM bool
}

// LaunchMain is the entry of the launch shim. It never returns: it becomes QEMU,
// or reports why not and exits with status 1.
func LaunchMain() {
	// Namespaces, credentials and PDEATHSIG belong to a thread; the thread that
	// sets them is the one that executes QEMU, and takes all others with it.
	runtime.LockOSThread()
	status := os.NewFile(statusFD, "status")
	unix.CloseOnExec(statusFD)
	err := launch(status)
	fmt.Fprintln(status, err)
	os.Exit(1)
}

func launch(status *os.File) error {
	spec, err := readSpec()
	if err != nil {
		return err
	}
	// In this order: what needs root first, then what gives root up, then what
	// giving it up would have undone.
	steps := []struct {
		name string
		do   func(launchSpec) error
	}{
		{"join cgroups", joinCgroups},
		{"raise the OOM score", raiseOOMScore},
		{"join the network namespace", joinNetNS},
		{"make a root of its own", confine},
		{"set limits", setLimits},
		{"drop privileges", dropPrivileges},
		{"follow the parent", followParent},
		{"close files", closeFiles},
	}
	for _, step := range steps {
		if err := step.do(spec); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	if _, err := io.WriteString(status, statusReady); err != nil {
		return err
	}
	err = unix.Exec(spec.Argv[0], spec.Argv, scrubbedEnvironment())
	return fmt.Errorf("execute %s: %w", spec.Argv[0], err)
}

func readSpec() (launchSpec, error) {
	file := os.NewFile(specFD, "spec")
	defer file.Close()
	var spec launchSpec
	if err := json.NewDecoder(file).Decode(&spec); err != nil {
		return spec, fmt.Errorf("read launch: %w", err)
	}
	if len(spec.Argv) == 0 || !filepath.IsAbs(spec.Argv[0]) || spec.UID == 0 || spec.GID == 0 {
		return spec, errors.New("read launch: no program, or privileged ids")
	}
	return spec, nil
}

// joinCgroups moves the whole process: "0" is the writer, in any pid namespace.
func joinCgroups(spec launchSpec) error {
	for _, dir := range spec.Cgroups {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0); err != nil {
			return err
		}
	}
	return nil
}

// vmOOMScore lets the VM die before the node's own services.
const vmOOMScore = 500

// raiseOOMScore undoes the agent's own, protective score, which is inherited. A
// score may always be raised; to lower one is a privilege some agents lack.
func raiseOOMScore(launchSpec) error {
	const path = "/proc/self/oom_score_adj"
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if score, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && score >= vmOOMScore {
		return nil
	}
	return os.WriteFile(path, []byte(strconv.Itoa(vmOOMScore)), 0)
}

func joinNetNS(spec launchSpec) error {
	if spec.NetNS == "" {
		return nil
	}
	fd, err := unix.Open(spec.NetNS, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", spec.NetNS, err)
	}
	defer unix.Close(fd)
	return unix.Setns(fd, unix.CLONE_NEWNET)
}

// maxOpenFiles is far above what a VM with three disks and one forward needs at
// the relay's connection limit.
const maxOpenFiles = 1024

func setLimits(launchSpec) error {
	for resource, limit := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_NOFILE: maxOpenFiles} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	return nil
}

// followParent comes after the change of ids, which clears PDEATHSIG. A parent
// that ended before it was set would never fire it.
func followParent(spec launchSpec) error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	if os.Getppid() != spec.Parent {
		return errors.New("the parent has ended")
	}
	return nil
}

// closeFiles leaves the three standard files to QEMU. They are closed by the
// execution, so that the status pipe can still carry its failure.
func closeFiles(launchSpec) error {
	return unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
}
