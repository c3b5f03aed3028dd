package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/nodeagent/broker"
	"github.com/ai-dossier/zt-operator/nodeagent/channel"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
)

// machine is the VM of one tree: a run disk that lives through both phases, and
// one QEMU process a phase.
type machine struct {
	engine  *Engine
	attempt *Attempt
	tree    v1alpha1.TreeName
	name    string
	config  hypervisor.Config

	process hypervisor.Process
	conn    *broker.Conn
	relay   *channel.Channel
}

// dirNames keeps socket paths short: they are limited to 107 bytes.
var dirNames = map[v1alpha1.TreeName]string{
	v1alpha1.TreeBase: "b", v1alpha1.TreeRegressionTest: "r", v1alpha1.TreeCandidate: "c",
}

const treeSuffix = ".erofs"

// newMachine enters the tree in the record. Nothing of its VM exists yet.
func newMachine(e *Engine, a *Attempt, tree v1alpha1.TreeName) (*machine, error) {
	root, ok := a.Manifest.Runtimes[a.Prepared.Runtime.Name]
	if !ok {
		return nil, fail(v1alpha1.DetailProfileImageMissing, fmt.Errorf("runtime %s is not baked", a.Prepared.Runtime.Name))
	}
	m := &machine{engine: e, attempt: a, tree: tree, name: dirNames[tree]}
	dir := filepath.Join(a.Dir.Path(), m.name)
	uid := a.UIDs[slices.Index(TreeOrder[:], tree)]
	m.config = hypervisor.Config{
		Dir: dir, UID: uid, GID: uid,
		CPUs: int(a.Profile.VM.CPUs), MemoryMiB: int(a.Profile.VM.MemoryMiB),
		Accelerator: a.Accelerator,
		Scope:       brokerproto.ScopeContainer,
		Kernel:      a.Manifest.Kernel.Path,
		Initrd:      a.Manifest.Initrd.Path,
		Root:        root.Path,
		DiskBase:    a.Manifest.DiskBase.Path,
		Disk:        filepath.Join(dir, "disk.qcow2"),
		// Beside the VM's directory, not in it: QEMU may not replace it.
		Tree:   dir + treeSuffix,
		Socket: filepath.Join(dir, "b.sock"),
	}
	m.begin()
	return m, nil
}

func (m *machine) begin() {
	source := m.attempt.Source.Trees[m.tree]
	m.attempt.Record.Update(func(s *v1alpha1.ExecutionStatus) {
		s.Trees = append(s.Trees, v1alpha1.TreeStatus{
			Name: m.tree, Commit: source.Commit, Tree: source.TreeID, Files: int32(source.Files),
			State: v1alpha1.TreeBooting,
		})
	})
	m.doing("preparing the VM")
}

func (m *machine) makeDisks(ctx context.Context) error {
	a := m.attempt
	dir, err := a.Dir.MkdirPrivate(m.name, m.config.UID, m.config.GID)
	if err != nil {
		return fail(v1alpha1.DetailNodeError, fmt.Errorf("making the VM's directory: %w", err))
	}
	defer dir.Close()
	if err := a.Trees.Disk(ctx, m.tree, m.config.Tree); err != nil {
		return fail(v1alpha1.DetailNodeError, fmt.Errorf("building the tree's disk: %w", err))
	}
	if err := a.Disks.NewDisk(ctx, a.Manifest, m.config.Disk, m.config.UID); err != nil {
		return fail(v1alpha1.DetailNodeError, fmt.Errorf("making the run disk: %w", err))
	}
	return nil
}

// boot starts the VM in provisioning and waits for its hello.
func (m *machine) boot(ctx context.Context) error {
	m.doing("booting the VM")
	took, err := m.launch(ctx, brokerproto.PhaseProvisioning)
	if err != nil {
		return fail(v1alpha1.DetailVMBootFailed, err)
	}
	m.update(func(t *v1alpha1.TreeStatus) { t.Timings.BootMillis = took.Milliseconds() })
	return nil
}

// switchPhase powers the guest off and relaunches it on the same disk without the
// forward.
func (m *machine) switchPhase(ctx context.Context) error {
	m.doing("cutting the VM off from every network")
	m.update(func(t *v1alpha1.TreeStatus) { t.State = v1alpha1.TreeSwitching })
	start := m.engine.Clock.Now()
	if err := m.powerOff(ctx); err != nil {
		return fail(v1alpha1.DetailVMPhaseChangeFailed, err)
	}
	off := m.engine.Clock.Since(start)
	if _, err := m.launch(ctx, brokerproto.PhaseVerification); err != nil {
		return fail(v1alpha1.DetailVMPhaseChangeFailed, err)
	}
	took, network := m.engine.Clock.Since(start), m.process.HasNetwork()
	m.update(func(t *v1alpha1.TreeStatus) {
		t.Timings.PowerOffMillis = off.Milliseconds()
		t.Timings.PhaseSwitchMillis = took.Milliseconds()
		t.NetworkInVerification = &network
	})
	if network {
		return fail(v1alpha1.DetailNetworkPresent, errors.New("QEMU was given a network device for verification"))
	}
	return nil
}

// powerOff has the guest sync and power off. Whatever it answers, QEMU is gone after it;
// but a guest that had to be killed may not have written all that it installed, and
// nothing that is run on such a disk says anything about a tree.
func (m *machine) powerOff(ctx context.Context) error {
	m.closeRelay()
	ctx, cancel := context.WithTimeout(ctx, m.attempt.Clocks.PowerOff)
	defer cancel()
	off := m.poweredOff(ctx)
	return errors.Join(off, m.stop())
}

func (m *machine) poweredOff(ctx context.Context) error {
	if err := m.conn.Shutdown(ctx); err != nil {
		return fmt.Errorf("asking the guest to power off: %w%s", err, m.stderr())
	}
	select {
	case <-m.process.Done():
		return m.process.Err()
	case <-ctx.Done():
		return fmt.Errorf("the guest did not power off in time: %w", context.Cause(ctx))
	}
}

// stop ends the QEMU process whatever state it is in.
func (m *machine) stop() error {
	m.closeRelay()
	if m.conn != nil {
		m.conn.Close()
		m.conn = nil
	}
	if m.process == nil {
		return nil
	}
	if err := m.process.Kill(); err != nil {
		return fmt.Errorf("stopping QEMU: %w", err)
	}
	m.process = nil
	return nil
}

// destroy ends the VM and removes all it left on the node. Its last state tells
// whether it had come to its own end.
func (m *machine) destroy(state v1alpha1.TreeState) error {
	m.doing("")
	start := m.engine.Clock.Now()
	err := errors.Join(m.stop(), m.remove())
	if err != nil {
		return fail(v1alpha1.DetailNodeError, fmt.Errorf("destroying the VM: %w", err))
	}
	took := m.engine.Clock.Since(start)
	m.update(func(t *v1alpha1.TreeStatus) {
		t.State = state
		t.Timings.DestroyMillis = took.Milliseconds()
	})
	return nil
}

func (m *machine) remove() error {
	return errors.Join(m.attempt.Dir.RemoveAll(m.name), m.attempt.Dir.RemoveAll(m.name+treeSuffix))
}

func (m *machine) update(change func(*v1alpha1.TreeStatus)) { m.attempt.Record.tree(m.tree, change) }

func (m *machine) doing(what string) { m.attempt.Record.activity(m.tree, what) }

// endGrace bounds the wait for a process whose connection has ended: it ends a moment
// later.
const endGrace = 2 * time.Second

// ending says how the QEMU process ended that nobody here has ended.
func (m *machine) ending() string {
	select {
	case <-m.process.Done():
	case <-time.After(endGrace):
		return "its QEMU runs on, so the guest closed its port" + m.stderr()
	}
	if err := m.process.Err(); err != nil {
		return err.Error() + m.stderr()
	}
	return "QEMU ended by itself: the guest powered off or its kernel gave up" + m.stderr()
}

func (m *machine) stderr() string {
	if text := m.process.Stderr(); text != "" {
		return "; QEMU said: " + text
	}
	return ""
}
