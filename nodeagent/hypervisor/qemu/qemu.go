package qemu

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
)

// LaunchCommand is the first argument that makes the calling binary the launch
// shim.
const LaunchCommand = "launch"

// QEMU starts VMs with one QEMU binary.
type QEMU struct {
	binary      string
	firmwareDir string
	// shim is the program and arguments that end in LaunchMain.
	shim []string
}

var _ hypervisor.Hypervisor = (*QEMU)(nil)

// New returns a QEMU that runs binary, an absolute path, and finds qboot.rom and
// option ROMs in firmwareDir; empty means the binary's own search path, which on
// Debian is /usr/share/qemu. The calling binary must run LaunchMain when its first
// argument is LaunchCommand.
func New(binary string, firmwareDir string) *QEMU {
	return &QEMU{binary: binary, firmwareDir: firmwareDir, shim: []string{"/proc/self/exe", LaunchCommand}}
}

// Start implements hypervisor.Hypervisor. It returns once QEMU has been executed
// with all privileges gone, or with the shim's reason why not.
func (q *QEMU) Start(ctx context.Context, c hypervisor.Config) (hypervisor.Process, error) {
	spec, err := q.spec(c)
	if err != nil {
		return nil, err
	}
	return start(ctx, q.shim, spec)
}

func (q *QEMU) spec(c hypervisor.Config) (launchSpec, error) {
	args, err := Args(c)
	if err != nil {
		return launchSpec{}, err
	}
	if c.UID == 0 || c.GID == 0 {
		return launchSpec{}, fmt.Errorf("qemu: uid %d, gid %d: must be unprivileged", c.UID, c.GID)
	}
	base, err := backingFile(c)
	if err != nil {
		return launchSpec{}, err
	}
	argv := []string{q.binary}
	if q.firmwareDir != "" {
		argv = append(argv, "-L", q.firmwareDir)
	}
	return launchSpec{
		Parent:  os.Getpid(),
		Argv:    append(argv, args...),
		UID:     c.UID,
		GID:     c.GID,
		NetNS:   c.Placement.NetNS,
		Cgroups: c.Placement.Cgroups,
		Dir:     c.Dir,
		// Everything else of the node is out of QEMU's sight: the agent's own token
		// is readable to every uid of its pod.
		Visible: visible(q.binary, q.firmwareDir, c.Kernel, c.Initrd, c.Root, c.Tree, base),
		KVM:     c.Accelerator == v1alpha1.AcceleratorKVM,
	}, nil
}

// visible returns each path once, without those below the folder that the shim shows
// anyway.
func visible(paths ...string) []string {
	paths = slices.DeleteFunc(paths, func(path string) bool {
		return path == "" || strings.HasPrefix(path, systemDir+"/")
	})
	slices.Sort(paths)
	return slices.Compact(paths)
}
