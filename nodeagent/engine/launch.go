package engine

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/nodeagent/broker"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
)

// bootTries bounds how often a silent boot is repeated.
const bootTries = 3

// silentBoot is a boot whose guest never said hello.
type silentBoot struct{ err error }

func (b *silentBoot) Error() string { return fmt.Sprintf("waiting for the guest's hello: %v", b.err) }

func (b *silentBoot) Unwrap() error { return b.err }

// launch starts QEMU in a phase and waits for the guest's hello. It returns the
// time from QEMU's start to it. A silent boot is repeated: emulated guests were
// seen to hang or crash in their kernel's first second on loaded machines. Nothing
// of the repository has run by then; the run disk's own journal outlives a crash.
func (m *machine) launch(ctx context.Context, phase brokerproto.Phase) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, m.attempt.Clocks.Boot)
	defer cancel()
	for try := 1; ; try++ {
		start := m.engine.Clock.Now()
		err := m.launchOnce(ctx, phase)
		if err == nil {
			return m.engine.Clock.Since(start), nil
		}
		var silent *silentBoot
		if !errors.As(err, &silent) || ctx.Err() != nil || try == bootTries {
			return 0, err
		}
		if err := m.stop(); err != nil {
			return 0, err
		}
		m.update(func(t *v1alpha1.TreeStatus) { t.BootRetries++ })
	}
}

func (m *machine) launchOnce(ctx context.Context, phase brokerproto.Phase) error {
	config, welcome, err := m.prepareLaunch(phase)
	if err != nil {
		return err
	}
	listener, err := broker.Listen(config.Socket, config.UID)
	if err != nil {
		return fmt.Errorf("listening for the guest: %w", err)
	}
	defer listener.Close()
	if m.process, err = m.engine.Hypervisor.Start(ctx, config); err != nil {
		return fmt.Errorf("starting QEMU: %w", err)
	}
	if phase == brokerproto.PhaseProvisioning {
		m.relay = m.newRelay(config.ForwardPort, welcome.RelayKey)
	}
	m.conn, err = m.accept(ctx, listener, config, welcome)
	return err
}

// accept waits for the hello, but no longer than QEMU lives.
func (m *machine) accept(ctx context.Context, listener *broker.Listener, config hypervisor.Config, welcome brokerproto.Welcome) (*broker.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, m.attempt.Clocks.Hello)
	defer cancel()
	process := m.process
	go func() {
		select {
		case <-process.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	expect := broker.Expect{Scope: config.Scope, Phase: config.Phase, Nonce: config.Nonce}
	conn, err := listener.Accept(ctx, expect, welcome, m.dial)
	var taint *broker.TaintError
	var refused *broker.RequestError
	switch {
	case err == nil:
		return conn, nil
	case errors.As(err, &taint), errors.As(err, &refused):
		return nil, fmt.Errorf("greeting the guest: %w", err)
	}
	return nil, &silentBoot{fmt.Errorf("%w%s", err, m.stderr())}
}

func (m *machine) dial(n int) {
	if m.relay != nil {
		m.relay.Request(n)
	}
}

func (m *machine) prepareLaunch(phase brokerproto.Phase) (hypervisor.Config, brokerproto.Welcome, error) {
	config := m.config
	config.Phase = phase
	nonce, err := m.random(16)
	if err != nil {
		return config, brokerproto.Welcome{}, err
	}
	config.Nonce = hex.EncodeToString(nonce)
	if config.Placement, err = m.attempt.Pod.Place(); err != nil {
		return config, brokerproto.Welcome{}, fmt.Errorf("finding the vm pod's cgroups: %w", err)
	}
	welcome := brokerproto.Welcome{UnixNanos: m.engine.Clock.Now().UnixNano(), Worker: m.workerLimits()}
	if welcome.Seed, err = m.random(32); err != nil {
		return config, welcome, err
	}
	if phase != brokerproto.PhaseProvisioning {
		return config, welcome, nil
	}
	if config.ForwardPort, err = m.attempt.Pod.FreePort(); err != nil {
		return config, welcome, fmt.Errorf("finding a port for the forward: %w", err)
	}
	welcome.RelayKey, err = m.random(32)
	return config, welcome, err
}

func (m *machine) workerLimits() brokerproto.WorkerLimits {
	worker := m.attempt.Profile.Worker
	return brokerproto.WorkerLimits{
		PIDs: int(worker.PIDs), MemoryMiB: int(worker.MemoryMiB), TmpMiB: int(worker.TmpMiB),
		CPUs: int(m.attempt.Profile.VM.CPUs),
	}
}

func (m *machine) random(n int) ([]byte, error) {
	out := make([]byte, n)
	if _, err := io.ReadFull(m.engine.Rand, out); err != nil {
		return nil, fmt.Errorf("reading randomness: %w", err)
	}
	return out, nil
}
