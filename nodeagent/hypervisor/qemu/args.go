package qemu

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
)

// kernelCommandLine holds no secret: workers can read it. cryptomgr.notests saves
// 0.35 s of a TCG boot; panic=-1 with -no-reboot turns a guest panic into an exit.
const kernelCommandLine = "quiet cryptomgr.notests=1 panic=-1"

// maxUnixPath is sun_path without its NUL, in bytes.
const maxUnixPath = 107

// Args returns QEMU's command line for one boot, without the program. It is pure.
// It refuses what would let a value change the meaning of an option.
func Args(c hypervisor.Config) ([]string, error) {
	if err := validate(c); err != nil {
		return nil, err
	}
	args := []string{"-machine", "q35"}
	args = append(args, acceleratorArgs(c.Accelerator)...)
	args = append(args,
		"-smp", strconv.Itoa(c.CPUs),
		"-m", strconv.Itoa(c.MemoryMiB),
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial", "none",
		"-bios", "qboot.rom",
		"-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
	)
	args = append(args, networkArgs(c.ForwardPort)...)
	args = append(args,
		"-device", "virtio-serial-pci,disable-legacy=on",
		"-chardev", "socket,id=ch0,path="+c.Socket,
		"-device", "virtserialport,chardev=ch0,name="+brokerproto.PortName,
		"-smbios", "type=11,value="+brokerproto.OEMScope+string(c.Scope)+
			",value="+brokerproto.OEMPhase+string(c.Phase)+
			",value="+brokerproto.OEMNonce+c.Nonce,
	)
	args = append(args, diskArgs(c)...)
	return append(args,
		"-device", "virtio-rng-pci,disable-legacy=on",
		"-kernel", c.Kernel,
		"-initrd", c.Initrd,
		"-append", kernelCommandLine,
	), nil
}

// tcgCPU was the fastest of those tried. AMD's name tells the guest kernel that
// Meltdown does not concern it: page table isolation empties the emulator's TLB at
// every system call, which made them twice as slow, and an emulated CPU does not
// speculate. All other mitigations stay as the kernel has them.
const tcgCPU = "Nehalem-v1,+pdpe1gb,vendor=AuthenticAMD"

func acceleratorArgs(a v1alpha1.Accelerator) []string {
	if a == v1alpha1.AcceleratorKVM {
		return []string{"-accel", "kvm", "-cpu", "host"}
	}
	// One thread for all vCPUs: with one for each, QEMU 10 was seen to let a halted
	// vCPU sleep through its wake-up, and the guest with it.
	return []string{"-accel", "tcg,thread=single", "-cpu", tcgCPU}
}

// networkArgs gives provisioning its one forward. Without a port there is no
// network device and no backend at all, so slirp's code is not reachable.
func networkArgs(port int) []string {
	if port == 0 {
		return nil
	}
	return []string{
		"-netdev", fmt.Sprintf("user,id=net0,restrict=on,ipv6=off,hostfwd=tcp:127.0.0.1:%d-:%d", port, brokerproto.RelayGuestPort),
		"-device", "virtio-net-pci,romfile=,netdev=net0,disable-legacy=on",
	}
}

// diskArgs lists vda, vdb and vdc in the order the guest names them. The run disk
// needs no flush to survive a host crash: an interrupted attempt starts anew.
func diskArgs(c hypervisor.Config) []string {
	return []string{
		"-drive", "if=none,id=d0,file=" + c.Root + ",format=raw,readonly=on",
		"-device", "virtio-blk-pci,drive=d0,disable-legacy=on",
		"-drive", "if=none,id=d1,file=" + c.Disk + ",format=qcow2,discard=unmap,cache=unsafe",
		"-device", "virtio-blk-pci,drive=d1,disable-legacy=on",
		"-drive", "if=none,id=d2,file=" + c.Tree + ",format=raw,readonly=on",
		"-device", "virtio-blk-pci,drive=d2,disable-legacy=on",
	}
}

// Range of a VM's size that is plausible; the profile's limits are narrower.
const (
	maxCPUs      = 64
	minMemoryMiB = 128
	maxMemoryMiB = 1 << 20
)

func validate(c hypervisor.Config) error {
	checks := []func(hypervisor.Config) error{validateSize, validateIdentity, validateNetwork, validatePaths}
	for _, check := range checks {
		if err := check(c); err != nil {
			return fmt.Errorf("qemu: %w", err)
		}
	}
	return nil
}

func validateSize(c hypervisor.Config) error {
	if c.CPUs < 1 || c.CPUs > maxCPUs {
		return fmt.Errorf("%d CPUs: want 1 to %d", c.CPUs, maxCPUs)
	}
	if c.MemoryMiB < minMemoryMiB || c.MemoryMiB > maxMemoryMiB {
		return fmt.Errorf("%d MiB of memory: want %d to %d", c.MemoryMiB, minMemoryMiB, maxMemoryMiB)
	}
	return nil
}

func validateIdentity(c hypervisor.Config) error {
	switch c.Accelerator {
	case v1alpha1.AcceleratorKVM, v1alpha1.AcceleratorTCG:
	default:
		return fmt.Errorf("accelerator %q is unknown", c.Accelerator)
	}
	if c.Scope != brokerproto.ScopeContainer {
		return fmt.Errorf("scope %q is unknown", c.Scope)
	}
	if !plainNonce(c.Nonce) {
		return errors.New("nonce must be 16 to 128 letters and digits")
	}
	return nil
}

func plainNonce(s string) bool {
	if len(s) < 16 || len(s) > 128 {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
}

// validateNetwork ties the forward to the phase: neither may exist without the other.
func validateNetwork(c hypervisor.Config) error {
	switch c.Phase {
	case brokerproto.PhaseProvisioning:
		if c.ForwardPort < 1 || c.ForwardPort > 65535 {
			return fmt.Errorf("forward port %d: provisioning wants 1 to 65535", c.ForwardPort)
		}
	case brokerproto.PhaseVerification:
		if c.ForwardPort != 0 {
			return fmt.Errorf("forward port %d: verification has no network", c.ForwardPort)
		}
	default:
		return fmt.Errorf("phase %q is unknown", c.Phase)
	}
	return nil
}

func validatePaths(c hypervisor.Config) error {
	paths := []struct{ name, value string }{
		{"private folder", c.Dir}, {"socket", c.Socket}, {"kernel", c.Kernel}, {"initrd", c.Initrd},
		{"root disk", c.Root}, {"run disk", c.Disk}, {"tree disk", c.Tree},
	}
	for _, p := range paths {
		if err := plainPath(p.value); err != nil {
			return fmt.Errorf("%s path: %w", p.name, err)
		}
	}
	for _, path := range []string{c.Socket, c.Disk} {
		if filepath.Dir(path) != c.Dir {
			return fmt.Errorf("%s is not in the private folder %s", path, c.Dir)
		}
	}
	if len(c.Socket) > maxUnixPath {
		return fmt.Errorf("socket path is %d bytes: a unix socket takes at most %d", len(c.Socket), maxUnixPath)
	}
	return nil
}

// plainPath admits clean absolute paths only, and none that QEMU would split (comma
// starts a sub-option) or that a log line or C string would cut short.
func plainPath(p string) error {
	if !filepath.IsAbs(p) || filepath.Clean(p) != p {
		return fmt.Errorf("%q is not absolute and clean", p)
	}
	if i := strings.IndexFunc(p, func(r rune) bool { return r == ',' || r < 0x20 || r == 0x7f }); i >= 0 {
		return fmt.Errorf("%q holds a comma or a control character", p)
	}
	return nil
}
