package broker

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

var expect = Expect{Scope: brokerproto.ScopeContainer, Phase: brokerproto.PhaseProvisioning, Nonce: "0123456789abcdef"}

func welcome(phase brokerproto.Phase) brokerproto.Welcome {
	w := brokerproto.Welcome{
		UnixNanos: 1, Seed: make([]byte, brokerproto.SeedBytes),
		Worker: brokerproto.WorkerLimits{PIDs: 1, MemoryMiB: 1, TmpMiB: 1, CPUs: 1},
	}
	if phase == brokerproto.PhaseProvisioning {
		w.RelayKey = make([]byte, brokerproto.RelayKeyBytes)
	}
	return w
}

func truthful() brokerproto.Hello {
	return brokerproto.Hello{Protocol: brokerproto.Protocol, Scope: expect.Scope, Phase: expect.Phase, Nonce: expect.Nonce}
}

// privateDir makes a folder as Listen wants it. A test's own folder has too long a
// path for a socket.
func privateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "b")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// listening makes a listener in a folder of its own.
func listening(t *testing.T) (*Listener, string) {
	t.Helper()
	path := filepath.Join(privateDir(t), "b.sock")
	listener, err := Listen(path, uint32(os.Geteuid()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(listener.Close)
	return listener, path
}

// guest is the other end, spoken by hand.
type guest struct {
	t      *testing.T
	stream net.Conn
	reader *brokerproto.Reader
	writer *brokerproto.Writer
}

func (g *guest) send(message any) {
	g.t.Helper()
	if err := g.writer.Write(message); err != nil {
		g.t.Error(err)
	}
}

func (g *guest) request() brokerproto.Request {
	var request brokerproto.Request
	if err := g.reader.Read(&request); err != nil && !errors.Is(err, net.ErrClosed) {
		g.t.Logf("guest read: %v", err)
	}
	return request
}

func dialed(t *testing.T, path string) *guest {
	t.Helper()
	stream, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	return &guest{t: t, stream: stream, reader: brokerproto.NewReader(stream), writer: brokerproto.NewWriter(stream)}
}

// connected goes through hello and welcome.
func connected(t *testing.T, phase brokerproto.Phase, onDial func(int)) (*Conn, *guest) {
	t.Helper()
	listener, path := listening(t)
	g := dialed(t, path)
	hello := truthful()
	hello.Phase = phase
	g.send(hello)
	want := expect
	want.Phase = phase
	conn, err := listener.Accept(t.Context(), want, welcome(phase), onDial)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	var got brokerproto.Welcome
	if err := g.reader.Read(&got); err != nil {
		t.Fatal(err)
	}
	return conn, g
}

func command(argv ...string) brokerproto.Exec {
	return brokerproto.Exec{Argv: argv, Network: brokerproto.NetworkNone, TimeoutMillis: 1000}
}

func wantTaint(t *testing.T, err error) {
	t.Helper()
	var taint *TaintError
	if !errors.As(err, &taint) {
		t.Fatalf("got %v, want a taint", err)
	}
}
