package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/hack/bench/report"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/nodeagent/broker"
	"github.com/ai-dossier/zt-operator/nodeagent/erofs"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor/qemu"
)

const (
	// vmUID is any id without rights on the machine.
	vmUID       = 1_879_052_288
	bootTimeout = 2 * time.Minute
	execTimeout = 2 * time.Minute
)

// bench boots the guest as a run does, without a cluster around it.
type bench struct {
	runs                 int
	kernel, initrd, root string
	qemu, firmware       string
	hypervisor           hypervisor.Hypervisor
	dir, tree, base      string
}

func (b *bench) measure(ctx context.Context) (*report.VM, error) {
	result := &report.VM{Header: report.Begin(), Accelerator: string(v1alpha1.AcceleratorTCG)}
	defer result.End()
	version, err := exec.CommandContext(ctx, b.qemu, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("asking QEMU for its version: %w", err)
	}
	b.hypervisor = qemu.New(b.qemu, b.firmware)
	if b.dir, err = os.MkdirTemp("", "zt-bench-"); err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	defer os.RemoveAll(b.dir)
	if err := b.prepare(ctx); err != nil {
		return nil, err
	}
	measured := report.Samples{}
	for n := range b.runs {
		if err := b.once(ctx, measured); err != nil {
			return nil, fmt.Errorf("VM %d: %w", n+1, err)
		}
	}
	result.QEMU, _, _ = strings.Cut(string(version), "\n")
	result.Millis = measured.Figures()
	return result, nil
}

// prepare makes the base of the run disks and a small tree.
func (b *bench) prepare(ctx context.Context) error {
	b.base, b.tree = filepath.Join(b.dir, "base.ext4"), filepath.Join(b.dir, "tree.erofs")
	return errors.Join(
		os.Chmod(b.dir, 0o711),
		erofs.Pack(b.tree, map[string]string{"package.json": "{}\n"}, erofs.Options{UID: 1000, GID: 1000}),
		command(ctx, "truncate", "-s", "1G", b.base),
		command(ctx, "mkfs.ext4", "-q", b.base),
	)
}

// once takes one VM through both phases.
func (b *bench) once(ctx context.Context, measured report.Samples) error {
	dir := filepath.Join(b.dir, "vm")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("making the VM's folder: %w", err)
	}
	defer os.RemoveAll(dir)
	disk := filepath.Join(dir, "disk.qcow2")
	if err := errors.Join(
		command(ctx, "qemu-img", "create", "-q", "-f", "qcow2", "-b", b.base, "-F", "raw", disk),
		os.Chown(disk, vmUID, vmUID), os.Chown(dir, vmUID, vmUID)); err != nil {
		return fmt.Errorf("making the VM's disk: %w", err)
	}
	vm := &vm{bench: b, dir: dir, disk: disk}
	defer vm.kill()
	if err := measured.Step("bootToHello", func() error { return vm.boot(ctx, brokerproto.PhaseProvisioning) }); err != nil {
		return err
	}
	if err := measured.Step("nodeFirst", func() error { return vm.node(ctx) }); err != nil {
		return err
	}
	if err := measured.Step("nodeWarm", func() error { return vm.node(ctx) }); err != nil {
		return err
	}
	return measured.Step("phaseSwitch", func() error {
		if err := measured.Step("powerOff", func() error { return vm.powerOff(ctx) }); err != nil {
			return err
		}
		return vm.boot(ctx, brokerproto.PhaseVerification)
	})
}

// vm is one VM under measurement.
type vm struct {
	bench     *bench
	dir, disk string
	process   hypervisor.Process
	conn      *broker.Conn
}

func (v *vm) boot(ctx context.Context, phase brokerproto.Phase) error {
	config, welcome := v.config(phase)
	listener, err := broker.Listen(config.Socket, vmUID)
	if err != nil {
		return fmt.Errorf("listening for the guest: %w", err)
	}
	defer listener.Close()
	ctx, cancel := context.WithTimeout(ctx, bootTimeout)
	defer cancel()
	if v.process, err = v.bench.hypervisor.Start(ctx, config); err != nil {
		return fmt.Errorf("starting QEMU: %w", err)
	}
	expect := broker.Expect{Scope: config.Scope, Phase: config.Phase, Nonce: config.Nonce}
	if v.conn, err = listener.Accept(ctx, expect, welcome, func(int) {}); err != nil {
		return fmt.Errorf("waiting for hello: %w; QEMU said: %s", err, v.process.Stderr())
	}
	return nil
}

func (v *vm) config(phase brokerproto.Phase) (hypervisor.Config, brokerproto.Welcome) {
	random := make([]byte, 16+32+32)
	_, _ = rand.Read(random)
	config := hypervisor.Config{
		Dir: v.dir, UID: vmUID, GID: vmUID, CPUs: 2, MemoryMiB: 2048,
		Accelerator: v1alpha1.AcceleratorTCG, Scope: brokerproto.ScopeContainer, Phase: phase,
		Nonce:  hex.EncodeToString(random[:16]),
		Kernel: v.bench.kernel, Initrd: v.bench.initrd, Root: v.bench.root,
		Disk: v.disk, DiskBase: v.bench.base, Tree: v.bench.tree, Socket: filepath.Join(v.dir, "b.sock"),
	}
	welcome := brokerproto.Welcome{
		UnixNanos: time.Now().UnixNano(), Seed: random[16:48],
		Worker: brokerproto.WorkerLimits{PIDs: 1024, MemoryMiB: 1536, TmpMiB: 256, CPUs: 2},
	}
	if phase == brokerproto.PhaseProvisioning {
		config.ForwardPort, welcome.RelayKey = 17480, random[48:]
	}
	return config, welcome
}

func (v *vm) node(ctx context.Context) error {
	result, err := v.conn.Exec(ctx, brokerproto.Exec{
		Argv: []string{"node", "-e", "0"}, Network: brokerproto.NetworkNone, TimeoutMillis: execTimeout.Milliseconds(),
	})
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	if result.ExitCode != 0 {
		return fmt.Errorf("node exited with %d: %s", result.ExitCode, result.Stderr)
	}
	return nil
}

func (v *vm) powerOff(ctx context.Context) error {
	if err := v.conn.Shutdown(ctx); err != nil {
		return fmt.Errorf("powering off: %w", err)
	}
	<-v.process.Done()
	v.conn.Close()
	return nil
}

func (v *vm) kill() {
	if v.conn != nil {
		v.conn.Close()
	}
	if v.process != nil {
		_ = v.process.Kill()
	}
}

func command(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}
