package preflight

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/safetext"
	"github.com/ai-dossier/zt-operator/nodeagent/broker"
	"github.com/ai-dossier/zt-operator/nodeagent/engine"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
	"github.com/ai-dossier/zt-operator/nodeagent/image"
	"github.com/ai-dossier/zt-operator/nodeagent/safepath"
)

// Smoke boots the guest under KVM, without a network and without any repository,
// in its own directory and as its own uid.
type Smoke struct {
	// Engine has the hypervisor, the clock and the randomness of real runs.
	Engine *engine.Engine
	// Images makes the boot's disk.
	Images engine.Disks
	// Parent gets the boot's folder, and is rid of it again.
	Parent *safepath.Dir
	// UID of QEMU and owner of the folder, and its GID too: no run's.
	UID uint32
}

const smokeDir = "smoke"

// maxSaid bounds what is told of QEMU's output, in characters.
const maxSaid = 512

// Boot is a SmokeBoot. Nothing of the boot is left when it returns.
func (s *Smoke) Boot(ctx context.Context, manifest *image.Manifest) (err error) {
	dir, err := s.Parent.MkdirPrivate(smokeDir, s.UID, s.UID)
	if err != nil {
		return fmt.Errorf("making the smoke boot's folder: %w", err)
	}
	defer func() { err = errors.Join(err, dir.Close(), s.Parent.RemoveAll(smokeDir)) }()
	config, err := s.config(ctx, manifest, dir.Path())
	if err != nil {
		return err
	}
	listener, err := broker.Listen(config.Socket, s.UID)
	if err != nil {
		return fmt.Errorf("listening for the guest: %w", err)
	}
	defer listener.Close()
	process, err := s.Engine.Hypervisor.Start(ctx, config)
	if err != nil {
		return fmt.Errorf("starting QEMU: %w", err)
	}
	defer func() { err = errors.Join(err, process.Kill()) }()
	return s.hello(ctx, listener, process, config)
}

// hello waits for the guest's hello, but no longer than QEMU lives: where KVM opens and
// then refuses a vCPU, QEMU ends at once and says why.
func (s *Smoke) hello(ctx context.Context, listener *broker.Listener, process hypervisor.Process, config hypervisor.Config) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-process.Done():
			cancel(errors.New("QEMU ended and said: " + safetext.Line(process.Stderr(), maxSaid)))
		case <-ctx.Done():
		}
	}()
	welcome := brokerproto.Welcome{
		UnixNanos: s.Engine.Clock.Now().UnixNano(),
		Seed:      make([]byte, brokerproto.SeedBytes),
		Worker:    brokerproto.WorkerLimits{PIDs: 16, MemoryMiB: 128, TmpMiB: 16, CPUs: 1},
	}
	expect := broker.Expect{Scope: config.Scope, Phase: config.Phase, Nonce: config.Nonce}
	conn, err := listener.Accept(ctx, expect, welcome, nil)
	if err != nil {
		return fmt.Errorf("waiting for the guest's hello: %w", err)
	}
	conn.Close()
	return nil
}

func (s *Smoke) config(ctx context.Context, manifest *image.Manifest, dir string) (hypervisor.Config, error) {
	root, err := anyRuntime(manifest)
	if err != nil {
		return hypervisor.Config{}, err
	}
	disk := filepath.Join(dir, "disk.qcow2")
	if err := s.Images.NewDisk(ctx, manifest, disk, s.UID); err != nil {
		return hypervisor.Config{}, fmt.Errorf("making the smoke boot's disk: %w", err)
	}
	nonce := make([]byte, 16)
	if _, err := s.Engine.Rand.Read(nonce); err != nil {
		return hypervisor.Config{}, fmt.Errorf("reading randomness: %w", err)
	}
	return hypervisor.Config{
		Dir: dir, UID: s.UID, GID: s.UID,
		CPUs: 1, MemoryMiB: 512,
		Accelerator: v1alpha1.AcceleratorKVM,
		Scope:       brokerproto.ScopeContainer, Phase: brokerproto.PhaseVerification,
		Nonce:  hex.EncodeToString(nonce),
		Kernel: manifest.Kernel.Path, Initrd: manifest.Initrd.Path,
		// The guest says hello before it reads a tree; any read-only disk will do.
		Root: root.Path, Tree: root.Path, Disk: disk, DiskBase: manifest.DiskBase.Path,
		Socket: filepath.Join(dir, "b.sock"),
	}, nil
}

func anyRuntime(manifest *image.Manifest) (image.File, error) {
	for _, file := range manifest.Runtimes {
		return file, nil
	}
	return image.File{}, errors.New("the manifest has no runtime")
}
