package boot

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

// CgroupRoot is where the cgroup v2 hierarchy is mounted.
const CgroupRoot = "/sys/fs/cgroup"

// VM is a booted VM: its identity, its port, and the rest of its boot, which goes
// on while the host is being greeted.
type VM struct {
	// Identity is what the host says the VM is.
	Identity Identity
	// Port is the broker's end in the VM.
	Port *Port

	ready chan error
}

// Start brings the VM up to its broker port and lets the rest of the boot go on
// beside: the hello needs no disk.
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

// finish does what the hello did not need.
func finish(phase brokerproto.Phase, modules <-chan error) error {
	if err := <-modules; err != nil {
		return err
	}
	if phase == brokerproto.PhaseProvisioning {
		if err := loadModules(modulesNet); err != nil {
			return err
		}
	}
	if err := switchRoot(); err != nil {
		return err
	}
	err := mountAll([]mount{
		{"tmpfs", "/run", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=0755,size=64m"},
		{"cgroup2", CgroupRoot, "cgroup2", locked, ""},
	})
	if err != nil {
		return err
	}
	if err := mountDisks(); err != nil {
		return err
	}
	if err := harden(); err != nil {
		return fmt.Errorf("harden the kernel: %w", err)
	}
	return nil
}

// PowerOff ends the VM. It returns only if the kernel refuses.
func PowerOff() {
	Unmount()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}
