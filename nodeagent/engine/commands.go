package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
	"github.com/ai-dossier/zt-operator/internal/junit"
	"github.com/ai-dossier/zt-operator/internal/safetext"
	"github.com/ai-dossier/zt-operator/internal/verdict"
	"github.com/ai-dossier/zt-operator/nodeagent/broker"
)

// provision waits for the proxy, runs the provisioning plan and has the mirror's cache
// audited. It is false if a command did not succeed: then there is nothing to verify,
// and the record says why.
func (m *machine) provision(ctx context.Context) (bool, error) {
	if err := m.awaitProxy(ctx); err != nil {
		return false, err
	}
	ok, err := m.install(ctx)
	if err != nil {
		return false, err
	}
	return ok, m.auditCache(ctx, ok)
}

func (m *machine) awaitProxy(ctx context.Context) error {
	m.doing("waiting for the package proxy")
	return fail(v1alpha1.DetailProxyNotReady, m.attempt.ProxyReady(ctx))
}

func (m *machine) install(ctx context.Context) (bool, error) {
	m.attempt.mirror.RLock()
	defer m.attempt.mirror.RUnlock()
	m.update(func(t *v1alpha1.TreeStatus) { t.State = v1alpha1.TreeProvisioning })
	start := m.engine.Clock.Now()
	ok, err := m.run(ctx, m.attempt.Prepared.Plan.Provisioning, m.attempt.Clocks.Provisioning)
	took := m.engine.Clock.Since(start)
	m.update(func(t *v1alpha1.TreeStatus) { t.Timings.ProvisionMillis = took.Milliseconds() })
	return ok, err
}

// verify runs the tree's commands without a network.
func (m *machine) verify(ctx context.Context) error {
	m.update(func(t *v1alpha1.TreeStatus) { t.State = v1alpha1.TreeVerifying })
	start := m.engine.Clock.Now()
	ok, err := m.run(ctx, verification(m.attempt.Prepared.Plan, m.tree), m.attempt.Clocks.Command)
	if ok && err == nil && m.tree == v1alpha1.TreeCandidate {
		err = m.sentinel(ctx)
	}
	took := m.engine.Clock.Since(start)
	m.update(func(t *v1alpha1.TreeStatus) { t.Timings.VerifyMillis = took.Milliseconds() })
	return err
}

// run executes commands in order and stops at a command without a report that
// does not succeed.
func (m *machine) run(ctx context.Context, commands []ecosystem.Command, timeout time.Duration) (bool, error) {
	for _, command := range commands {
		status, report, err := m.exec(ctx, command, timeout)
		if err != nil {
			return false, fmt.Errorf("%s: %w", command.Name, err)
		}
		if err := m.compare(ctx, command.Name, &status, report); err != nil {
			return false, err
		}
		m.update(func(t *v1alpha1.TreeStatus) { t.Commands = append(t.Commands, status) })
		if !command.Report && status.Classification != v1alpha1.ClassSucceeded {
			return false, nil
		}
	}
	return true, nil
}

// exec executes a command. A candidate's test runs only while nothing that judges it
// has been changed on its disk.
func (m *machine) exec(ctx context.Context, command ecosystem.Command, timeout time.Duration) (v1alpha1.CommandStatus, *junit.Report, error) {
	if command.Report && m.tree == v1alpha1.TreeCandidate {
		if err := m.intact(ctx); err != nil {
			return v1alpha1.CommandStatus{}, nil, err
		}
	}
	m.doing(strings.Join(command.Argv, " "))
	start := m.engine.Clock.Now()
	result, err := m.conn.Exec(ctx, brokerproto.Exec{
		Argv: command.Argv, Env: command.Env, Network: command.Network,
		TimeoutMillis: timeout.Milliseconds(), Report: command.Report,
	})
	if err != nil {
		return v1alpha1.CommandStatus{}, nil, m.lost(err)
	}
	status, report := commandStatus(command, result, m.engine.Clock.Since(start))
	return status, report, nil
}

// lost tells a VM that went away from a guest whose boot failed, and from one that could
// not run the command.
func (m *machine) lost(err error) error {
	var guest *broker.GuestError
	switch {
	case errors.As(err, &guest) && strings.HasPrefix(guest.Slug, brokerproto.ErrorBootPrefix):
		return fail(m.bootDetail(), fmt.Errorf("the guest did not finish its boot: %w", err))
	case errors.As(err, &guest):
		return fail(v1alpha1.DetailNodeError, fmt.Errorf("the guest could not run the command: %w", err))
	case errors.Is(err, broker.ErrLost):
		return fail(v1alpha1.DetailVMLost, fmt.Errorf("the VM went away: %w; %s", err, m.ending()))
	}
	return err
}

// bootDetail names a boot that failed: only a VM in provisioning has a relay.
func (m *machine) bootDetail() v1alpha1.Detail {
	if m.relay != nil {
		return v1alpha1.DetailVMBootFailed
	}
	return v1alpha1.DetailVMPhaseChangeFailed
}

func commandStatus(command ecosystem.Command, result brokerproto.ExecResult, took time.Duration) (v1alpha1.CommandStatus, *junit.Report) {
	status := v1alpha1.CommandStatus{
		Name:           command.Name,
		Argv:           command.Argv,
		Phase:          v1alpha1.VMPhase(command.Phase),
		Network:        v1alpha1.Network(command.Network),
		Signal:         int32(result.Signal),
		TimedOut:       result.TimedOut,
		DurationMillis: took.Milliseconds(),
		OutputTail:     outputTail(result),
	}
	if result.Signal == 0 && !result.TimedOut {
		code := int32(result.ExitCode)
		status.ExitCode = &code
	}
	reading := verdict.ClassifyResult(result, command.Report)
	status.Classification, status.Report, status.Problem = reading.Class, reading.Counts(), reading.Problem
	if reading.Report != nil {
		status.ResultsDigest = junit.Digest(reading.Report.Cases)
	}
	return status, reading.Report
}

const maxOutputTail = 2048

// outputTail keeps the end of what the command printed: of stderr if it failed
// without a report to read, since that is where tools say why.
func outputTail(result brokerproto.ExecResult) string {
	if len(result.Stderr) > 0 && result.ExitCode != 0 {
		return safetext.Tail(append(append(result.Stdout, '\n'), result.Stderr...), maxOutputTail)
	}
	return safetext.Tail(result.Stdout, maxOutputTail)
}
