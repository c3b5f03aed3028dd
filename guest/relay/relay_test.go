package relay_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/guest/relay"
)

var key = bytes.Repeat([]byte{7}, 32)

// world is a relay on loopback whose host dials in for every demand.
type world struct {
	relay  *relay.Relay
	guest  string
	worker string
	stop   func()
	dials  chan struct{}
}

func newWorld(t *testing.T, peer net.IP) *world {
	t.Helper()
	w := &world{dials: make(chan struct{}, 1000)}
	w.relay = relay.New(key, peer, func() { w.dials <- struct{}{} })
	guest, worker := listen(t), listen(t)
	w.guest, w.worker = guest.Addr().String(), worker.Addr().String()
	go w.relay.Listen(guest)
	w.stop = w.relay.Serve(worker)
	t.Cleanup(w.stop)
	return w
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

func dial(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return conn.(*net.TCPConn)
}

// host answers the next demand with a connection that opens with the given bytes.
func (w *world) host(t *testing.T, opening []byte) *net.TCPConn {
	t.Helper()
	select {
	case <-w.dials:
	case <-time.After(10 * time.Second):
		t.Fatal("no demand for a host connection")
	}
	conn := dial(t, w.guest)
	write(t, conn, string(opening))
	return conn
}

func write(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

func wantRead(t *testing.T, conn net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Fatalf("read %q, %v; want %q", got, err, want)
	}
}

// wantEnd wants the connection to end without a byte.
func wantEnd(t *testing.T, conn net.Conn) {
	t.Helper()
	n, err := conn.Read(make([]byte, 1))
	if n != 0 || err == nil || timedOut(err) {
		t.Fatalf("read %d bytes, %v; want the end", n, err)
	}
}

func timedOut(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

var loopback = net.IPv4(127, 0, 0, 1)

func TestAKeyedConnectionIsJoinedAndHalfClosesPass(t *testing.T) {
	w := newWorld(t, loopback)
	worker := dial(t, w.worker)
	host := w.host(t, append(bytes.Clone(key), "hello"...))
	wantRead(t, worker, "hello")
	write(t, worker, "request")
	_ = worker.CloseWrite()
	wantRead(t, host, "request")
	wantEnd(t, host)
	write(t, host, "answer")
	_ = host.CloseWrite()
	wantRead(t, worker, "answer")
	wantEnd(t, worker)
}

func TestAWrongKeyIsDroppedAndDoesNotDisturb(t *testing.T) {
	w := newWorld(t, loopback)
	worker := dial(t, w.worker)
	wrong := bytes.Clone(key)
	wrong[31] ^= 1
	impostor := w.host(t, append(wrong, "evil"...))
	wantEnd(t, impostor)
	host := dial(t, w.guest)
	write(t, host, string(key)+"good")
	wantRead(t, worker, "good")
}

func TestAConnectionFromElsewhereIsDropped(t *testing.T) {
	w := newWorld(t, net.IPv4(10, 0, 2, 2))
	dial(t, w.worker)
	wantEnd(t, w.host(t, key))
}

func TestStopEndsEverything(t *testing.T) {
	w := newWorld(t, loopback)
	joined := dial(t, w.worker)
	host := w.host(t, append(bytes.Clone(key), 'x'))
	wantRead(t, joined, "x")
	waiting := dial(t, w.worker)
	<-w.dials
	done := make(chan struct{})
	go func() { w.stop(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("stop does not return")
	}
	for _, conn := range []net.Conn{joined, waiting, host} {
		if _, err := io.Copy(io.Discard, conn); timedOut(err) {
			t.Error("a connection outlived the session")
		}
	}
	if _, err := net.Dial("tcp4", w.worker); err == nil {
		t.Error("the worker's port still answers")
	}
}
