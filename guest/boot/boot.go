package boot

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

// CgroupRoot is where the cgroup v2 hierarchy is mounted.
const CgroupRoot = "/sys/fs/cgroup"

// VM is a VM with its identity and its port, whose boot goes on until Wait returns.
type VM struct {
	// Identity is what the host says the VM is.
	Identity Identity
	// Port is the broker's end in the VM.
	Port *Port

	ready chan error
}

// Start brings the VM up to its broker port and lets the rest of the boot go on beside,
// so that a boot that fails can still be told of.
func Start() (*VM, error) {
	if err := mountKernel(); err != nil {
		return nil, err
	}
	identity, err := readIdentity()
	if err != nil {
		return nil, err
	}
	// The console's driver may be a module of the first stage.
	modules := make(chan error, 1)
	go func() { modules <- loadModules(modulesBoot) }()
	port, err := openPort()
	if err != nil {
		return nil, err
	}
	vm := &VM{Identity: identity, Port: port, ready: make(chan error, 1)}
	go func() { vm.ready <- finish(identity.Phase, modules) }()
	return vm, nil
}

// Wait returns when the rest of the boot is done. It may be called once.
func (v *VM) Wait() error { return <-v.ready }

// StageError is a boot that failed.
type StageError struct {
	// Stage of the boot, in lower-case letters: the host is told no more.
	Stage string
	// Err is what failed.
	Err error
}

func (e *StageError) Error() string { return fmt.Sprintf("boot: %s: %v", e.Stage, e.Err) }

// Unwrap returns what failed.
func (e *StageError) Unwrap() error { return e.Err }

// finish does what the port did not need.
func finish(phase brokerproto.Phase, modules <-chan error) error {
	for _, stage := range []struct {
		name string
		do   func() error
	}{
		{"modules", func() error { return <-modules }},
		{"network", func() error { return loadNetwork(phase) }},
		{"root", switchRoot},
		{"mounts", mountRun},
		{"disks", mountDisks},
		{"hardening", harden},
	} {
		if err := stage.do(); err != nil {
			return &StageError{Stage: stage.name, Err: err}
		}
	}
	return nil
}

func loadNetwork(phase brokerproto.Phase) error {
	if phase != brokerproto.PhaseProvisioning {
		return nil
	}
	return loadModules(modulesNet)
}

func mountRun() error {
	return mountAll([]mount{
		{"tmpfs", "/run", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=0755,size=64m"},
		{"cgroup2", CgroupRoot, "cgroup2", locked, ""},
	})
}

// PowerOff ends the VM. It returns only if the kernel refuses.
func PowerOff() {
	Unmount()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}
