package fake

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/nodeagent/broker"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
)

// booted starts a scripted guest and greets it through the real broker.
func booted(t *testing.T, guest Guest, onDial func(int)) (*Fake, hypervisor.Process, *broker.Conn, error) {
	t.Helper()
	dir, err := os.MkdirTemp("", "f")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c := hypervisor.Config{
		Dir: dir, Socket: filepath.Join(dir, "s"), Scope: brokerproto.ScopeContainer,
		Phase: brokerproto.PhaseProvisioning, Nonce: "nonce", ForwardPort: 1,
	}
	listener, err := broker.Listen(c.Socket, uint32(os.Geteuid()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(listener.Close)
	f := New(guest)
	process, err := f.Start(t.Context(), c)
	if err != nil {
		return f, nil, nil, err
	}
	t.Cleanup(func() { _ = process.Kill() })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	go func() { // As the engine does: a VM that ends never says hello.
		select {
		case <-process.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	welcome := brokerproto.Welcome{
		UnixNanos: 7, Seed: make([]byte, 32), RelayKey: make([]byte, 32),
		Worker: brokerproto.WorkerLimits{PIDs: 1, MemoryMiB: 1, TmpMiB: 1, CPUs: 1},
	}
	conn, err := listener.Accept(ctx, broker.Expect{Scope: c.Scope, Phase: c.Phase, Nonce: c.Nonce}, welcome, onDial)
	if err == nil {
		t.Cleanup(conn.Close)
	}
	return f, process, conn, err
}

func command(argv ...string) brokerproto.Exec {
	return brokerproto.Exec{Argv: argv, Network: brokerproto.NetworkNone, TimeoutMillis: 1000, Report: true}
}

func TestAGuestWithoutAScriptSucceedsAndShutsDown(t *testing.T) {
	f, process, conn, err := booted(t, Guest{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := conn.Exec(t.Context(), command("npm", "ci"))
	if err != nil || result.ExitCode != 0 || result.Report.Error != brokerproto.ReportAbsent {
		t.Errorf("got %+v, %v", result, err)
	}
	if err := conn.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	<-process.Done()
	if process.Err() != nil || !process.HasNetwork() {
		t.Errorf("ended with %v, network %v", process.Err(), process.HasNetwork())
	}
	boot := f.Boots()[0]
	if got := boot.Requests(); len(got) != 2 || !slices.Equal(got[0].Exec.Argv, []string{"npm", "ci"}) || boot.Welcome().UnixNanos != 7 {
		t.Errorf("recorded %+v", got)
	}
}

func TestAScriptDecidesEveryAnswer(t *testing.T) {
	dials := make(chan int, 1)
	guest := Guest{
		Exec: func(_ hypervisor.Config, e brokerproto.Exec) Reply {
			switch e.Argv[0] {
			case "fail":
				return Reply{Result: brokerproto.ExecResult{ExitCode: 1, Stderr: []byte("no"), Report: &brokerproto.Report{Data: []byte("<x/>")}}}
			case "refuse":
				return Reply{Error: brokerproto.ErrorContainerFailed, Dial: 3}
			}
			return Reply{}
		},
		Get: func(_ hypervisor.Config, g brokerproto.Get) Reply { return Reply{Data: []byte(g.Path)} },
	}
	_, _, conn, err := booted(t, guest, func(n int) { dials <- n })
	if err != nil {
		t.Fatal(err)
	}
	result, err := conn.Exec(t.Context(), command("fail"))
	if err != nil || result.ExitCode != 1 || result.StderrBytes != 2 || string(result.Report.Data) != "<x/>" {
		t.Errorf("got %+v, %v", result, err)
	}
	var answered *broker.GuestError
	if _, err := conn.Exec(t.Context(), command("refuse")); !errors.As(err, &answered) || <-dials != 3 {
		t.Errorf("got %v", err)
	}
	if data, err := conn.Get(t.Context(), brokerproto.Get{Path: "a"}); err != nil || string(data) != "a" {
		t.Errorf("got %q, %v", data, err)
	}
}

func TestAGuestThatFails(t *testing.T) {
	always := func(reply Reply) func(hypervisor.Config, brokerproto.Exec) Reply {
		return func(hypervisor.Config, brokerproto.Exec) Reply { return reply }
	}
	cases := map[string]struct {
		guest Guest
		check func(t *testing.T, err error, p hypervisor.Process)
	}{
		"by a crash": {Guest{Exec: always(Reply{Crash: true})}, func(t *testing.T, err error, p hypervisor.Process) {
			<-p.Done()
			if !errors.Is(err, broker.ErrLost) || !errors.Is(p.Err(), errCrashed) {
				t.Errorf("got %v and %v", err, p.Err())
			}
		}},
		"by a taint, and lives on": {Guest{Exec: always(Reply{Taint: true})}, func(t *testing.T, err error, p hypervisor.Process) {
			var taint *broker.TaintError
			if !errors.As(err, &taint) {
				t.Errorf("got %v", err)
			}
			select {
			case <-p.Done():
				t.Error("the process ended")
			default:
			}
		}},
		"by hanging, and can be killed": {Guest{Exec: always(Reply{Hang: true})}, func(t *testing.T, err error, p hypervisor.Process) {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			if err := p.Kill(); err != nil || !errors.Is(p.Err(), errKilled) {
				t.Errorf("killed: %v, %v", err, p.Err())
			}
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, process, conn, err := booted(t, c.guest, nil)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			_, err = conn.Exec(ctx, command("x"))
			c.check(t, err, process)
		})
	}
}

func TestAGuestThatNeverBoots(t *testing.T) {
	failure := errors.New("no such device")
	if _, _, _, err := booted(t, Guest{StartError: func(hypervisor.Config) error { return failure }}, nil); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	lie := Guest{Hello: func(_ hypervisor.Config, h *brokerproto.Hello) { h.Nonce = "another" }}
	var taint *broker.TaintError
	if _, _, _, err := booted(t, lie, nil); !errors.As(err, &taint) {
		t.Errorf("got %v", err)
	}
}

func TestASilentGuestCanBeKilled(t *testing.T) {
	f := New(Guest{Silent: func(hypervisor.Config) bool { return true }, Network: func(hypervisor.Config) bool { return true }})
	process, err := f.Start(t.Context(), hypervisor.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil || process.Err() == nil || !process.HasNetwork() {
		t.Errorf("got %v, %v", err, process.Err())
	}
}
