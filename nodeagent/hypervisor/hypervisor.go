package hypervisor

import (
	"context"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

// Config is one boot of one VM. All of it is controller policy: no string of a
// run, a repository or a guest may reach it.
type Config struct {
	// Dir is the VM's private folder (0700, owned by UID): the socket and the run
	// disk live there. It is the only folder the process may write to.
	Dir string
	// UID and GID the process runs as; neither may be 0. Files it needs are
	// opened with these: the caller makes them readable (Disk: writable).
	UID, GID uint32
	// CPUs and MemoryMiB are the VM's size.
	CPUs, MemoryMiB int
	// Accelerator the VM runs under; never downgraded.
	Accelerator v1alpha1.Accelerator

	// Scope, Phase and Nonce are told to the guest, which announces them back.
	Scope brokerproto.Scope
	// Phase also decides whether the VM has a network device.
	Phase brokerproto.Phase
	// Nonce is new for each boot, hex.
	Nonce string

	// Kernel (vmlinux) and Initrd boot the VM. Root (raw, read-only), Disk (qcow2,
	// read-write) and Tree (raw, read-only) are its disks vda, vdb and vdc.
	Kernel, Initrd, Root, Disk, Tree string
	// DiskBase is the raw file behind Disk. If it is empty, Disk must be backed by
	// a file in Kernel's folder.
	DiskBase string

	// ForwardPort is the loopback port that leads to the guest's relay. It is set
	// in phase provisioning and 0 in verification, which has no network device.
	ForwardPort int
	// Socket is where the host listens for the guest's broker.
	Socket string
	// Placement is where the process runs.
	Placement Placement
}

// Placement is where a VM process runs: the pod that pays for it.
type Placement struct {
	// NetNS is a network namespace file to join; empty keeps the caller's.
	NetNS string
	// Cgroups are the folders, one a hierarchy, the process moves itself into.
	Cgroups []string
}

// Hypervisor starts VM processes.
type Hypervisor interface {
	// Start returns once the VM process runs, before the guest does. ctx bounds
	// the start only; the process lives until it ends or is killed.
	Start(ctx context.Context, c Config) (Process, error)
}

// Process is one VM process.
type Process interface {
	// PID of the process, for diagnostics only: signals go through Kill.
	PID() int
	// Done is closed when the process has ended and was waited for.
	Done() <-chan struct{}
	// Err says how the process ended: nil after exit status 0 and before the end.
	Err() error
	// Kill ends the process, first politely, and returns when it is gone.
	Kill() error
	// HasNetwork reports whether the process was started with any network device
	// or backend, as observed, true if that cannot be told.
	HasNetwork() bool
	// Stderr is the end of what the process wrote to stdout and stderr.
	Stderr() string
}
