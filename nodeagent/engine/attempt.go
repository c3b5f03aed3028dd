package engine

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"k8s.io/utils/clock"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
	"github.com/ai-dossier/zt-operator/nodeagent/image"
	"github.com/ai-dossier/zt-operator/nodeagent/safepath"
	"github.com/ai-dossier/zt-operator/nodeagent/source"
)

// Engine executes attempts. It is safe for concurrent use.
type Engine struct {
	Hypervisor hypervisor.Hypervisor
	Clock      clock.PassiveClock
	// Rand gives nonces and keys; a cryptographic source.
	Rand io.Reader
}

// Pod is the vm pod an attempt's VMs live in.
type Pod interface {
	// Place returns the pod's cgroups and network namespace for a new process.
	Place() (hypervisor.Placement, error)
	// FreePort returns a TCP port free on the loopback of the pod.
	FreePort() (int, error)
	// Dial connects to a port on the loopback of the pod.
	Dial(ctx context.Context, port int) (net.Conn, error)
}

// Trees gives the exact files of each tree.
type Trees interface {
	// Disk writes a tree as a read-only file system image to path.
	Disk(ctx context.Context, name v1alpha1.TreeName, path string) error
}

// Disks makes writable run disks.
type Disks interface {
	// NewDisk writes an empty run disk, owned by uid, to path.
	NewDisk(ctx context.Context, manifest *image.Manifest, path string, uid uint32) error
}

// Attempt is everything the execution of a prepared source needs. All of it is the
// controller's data, or was checked before it came here.
type Attempt struct {
	// Dir is this attempt's own folder, passable for UIDs.
	Dir *safepath.Dir
	// UIDs are the users and groups that the trees' QEMUs run as, in TreeOrder; they are
	// this attempt's alone.
	UIDs [trees]uint32

	Proof       v1alpha1.Proof
	Profile     v1alpha1.ZTProfileSpec
	Accelerator v1alpha1.Accelerator
	Clocks      Clocks
	Manifest    *image.Manifest
	Source      *source.Source
	Prepared    *Prepared

	Pod   Pod
	Trees Trees
	Disks Disks

	// DialMirror connects to the run's one mirror.
	DialMirror func(context.Context) (net.Conn, error)
	// ProxyReady waits until mirror and Squid are ready.
	ProxyReady func(context.Context) error
	// Cache is checked after each tree's provisioning; nil leaves it unchecked, and
	// the run without a proof.
	Cache *Cache

	Record *Record

	results *results
	// mirror is held for reading while a tree installs from it, and for writing while
	// its cache is audited: an audit never meets half a download.
	mirror sync.RWMutex
}

// execute takes a tree through both phases of its own VM.
func (m *machine) execute(ctx context.Context) (err error) {
	state := v1alpha1.TreeDestroyed
	defer func() {
		if errors.Is(context.Cause(ctx), errDecided) {
			state = v1alpha1.TreeCancelled
		}
		err = errors.Join(err, m.destroy(state))
	}()

	// One VM boots while the proxy starts; more would only take its CPUs from it.
	if m.tree != TreeOrder[0] {
		if err := m.awaitProxy(ctx); err != nil {
			return err
		}
	}
	if err := m.makeDisks(ctx); err != nil {
		return err
	}
	if err := m.boot(ctx); err != nil {
		return err
	}
	if ok, err := m.provision(ctx); err != nil || !ok {
		return err
	}
	if err := m.switchPhase(ctx); err != nil {
		return err
	}
	return m.verify(ctx)
}

// verification lists the commands a tree runs without a network.
func verification(plan ecosystem.Plan, name v1alpha1.TreeName) []ecosystem.Command {
	commands := append([]ecosystem.Command{}, plan.Prepare...)
	switch name {
	case v1alpha1.TreeBase:
		commands = append(commands, plan.Suite)
	case v1alpha1.TreeRegressionTest:
		commands = append(commands, plan.Regression)
	case v1alpha1.TreeCandidate:
		commands = append(commands, plan.Regression, plan.Suite)
	}
	return commands
}
