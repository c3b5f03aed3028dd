package channel

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

var relayKey = bytes.Repeat([]byte{7}, 32)

// peers are both ends a channel connects: each accepts TCP on loopback.
type peers struct {
	guest, mirror net.Listener
	config        Config
}

func newPeers(t *testing.T) *peers {
	t.Helper()
	p := &peers{guest: listen(t), mirror: listen(t)}
	p.config = Config{DialGuest: dialer(p.guest), DialMirror: dialer(p.mirror), RelayKey: relayKey}
	return p
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

func dialer(to net.Listener) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", to.Addr().String())
	}
}

// serve answers every connection with do.
func serve(listener net.Listener, do func(*net.TCPConn)) {
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				do(conn.(*net.TCPConn))
			}()
		}
	}()
}

// echo answers with what it got once the other side has half-closed.
func echo(conn *net.TCPConn) {
	text, _ := io.ReadAll(conn)
	_, _ = conn.Write(text)
}

func readKey(t *testing.T, conn net.Conn) bool {
	key := make([]byte, len(relayKey))
	if _, err := io.ReadFull(conn, key); err != nil || !bytes.Equal(key, relayKey) {
		t.Errorf("the connection opened with %x (%v)", key, err)
		return false
	}
	return true
}

// worker sends text through a guest connection, half-closes, and wants it back.
func worker(t *testing.T, done chan<- error, text []byte) func(*net.TCPConn) {
	return func(conn *net.TCPConn) {
		if !readKey(t, conn) {
			return
		}
		go func() { _, _ = conn.Write(text); _ = conn.CloseWrite() }()
		back, err := io.ReadAll(conn)
		if err == nil && !bytes.Equal(back, text) {
			err = errors.New("the answer differs")
		}
		done <- err
	}
}

// wantNoLeak checks that the goroutines of a test are gone.
func wantNoLeak(t *testing.T, before int) {
	t.Helper()
	for range 200 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<16)
	t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 1000 {
		if done() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("never: ", what)
}

func TestThousandsOfConnectionsOneAfterTheOther(t *testing.T) {
	p := newPeers(t)
	done := make(chan error)
	serve(p.guest, worker(t, done, []byte("GET /")))
	serve(p.mirror, echo)
	before := runtime.NumGoroutine()
	c := New(p.config)
	const count = 3000
	for range count {
		c.Request(1)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "all connections ended", func() bool { return c.Stats().Connections == count })
	stats := c.Close()
	if stats != (Stats{Connections: count, ToMirrorBytes: count * 5, ToGuestBytes: count * 5}) {
		t.Errorf("got %+v", stats)
	}
	wantNoLeak(t, before)
}

func TestSixtyFourConnectionsAtOnceCarryMegabytes(t *testing.T) {
	p := newPeers(t)
	text := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	done := make(chan error)
	serve(p.guest, worker(t, done, text))
	serve(p.mirror, func(conn *net.TCPConn) { _, _ = io.Copy(conn, conn) })
	before := runtime.NumGoroutine()
	c := New(p.config)
	c.Request(64)
	for range 64 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	waitFor(t, "all connections ended", func() bool { return c.Stats().Connections == 64 })
	want := int64(64 * len(text))
	if stats := c.Close(); stats.ToMirrorBytes != want || stats.ToGuestBytes != want || stats.Failed != 0 {
		t.Errorf("got %+v, want %d bytes each way", stats, want)
	}
	wantNoLeak(t, before)
}

func TestTheMirrorMayGoOnAfterTheWorkerHalfClosed(t *testing.T) {
	p := newPeers(t)
	done := make(chan error)
	serve(p.guest, worker(t, done, []byte("late")))
	serve(p.mirror, func(conn *net.TCPConn) {
		text, _ := io.ReadAll(conn)
		time.Sleep(50 * time.Millisecond)
		_, _ = conn.Write(text)
	})
	c := New(p.config)
	defer c.Close()
	c.Request(1)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestTheWorkerMayGoOnAfterTheMirrorHalfClosed(t *testing.T) {
	p := newPeers(t)
	got := make(chan string)
	serve(p.mirror, func(conn *net.TCPConn) {
		_ = conn.CloseWrite()
		text, _ := io.ReadAll(conn)
		got <- string(text)
	})
	serve(p.guest, func(conn *net.TCPConn) {
		if readKey(t, conn) {
			_, _ = io.ReadAll(conn)
			_, _ = conn.Write([]byte("upload"))
		}
	})
	c := New(p.config)
	defer c.Close()
	c.Request(1)
	if text := <-got; text != "upload" {
		t.Errorf("got %q", text)
	}
}

func TestDemandsAboveTheLimitWait(t *testing.T) {
	p := newPeers(t)
	p.config.Max = 4
	var open, most, total atomic.Int64
	release := make(chan struct{})
	serve(p.guest, func(conn *net.TCPConn) { readKey(t, conn); _, _ = io.ReadAll(conn) })
	serve(p.mirror, func(conn *net.TCPConn) {
		most.Store(max(most.Load(), open.Add(1)))
		total.Add(1)
		<-release
		open.Add(-1)
	})
	c := New(p.config)
	defer c.Close()
	c.Request(10)
	waitFor(t, "four are open", func() bool { return total.Load() == 4 })
	time.Sleep(20 * time.Millisecond)
	if total.Load() != 4 {
		t.Errorf("%d connections at once", total.Load())
	}
	close(release)
	waitFor(t, "the waiting four were opened", func() bool { return c.Stats().Connections == 8 })
	if stats := c.Stats(); most.Load() > 4 || stats.Refused != 2 {
		t.Errorf("%d at once, %+v", most.Load(), stats)
	}
}

func TestAMirrorThatRefusesClosesTheWorkersConnection(t *testing.T) {
	p := newPeers(t)
	p.config.DialMirror = func(context.Context) (net.Conn, error) { return nil, errors.New("refused") }
	ended := make(chan struct{})
	serve(p.guest, func(conn *net.TCPConn) {
		if readKey(t, conn) {
			_, _ = io.ReadAll(conn)
		}
		close(ended)
	})
	c := New(p.config)
	c.Request(1)
	<-ended
	waitFor(t, "it is counted", func() bool { return c.Stats().Failed == 1 })
	if stats := c.Close(); stats.Connections != 1 || stats.ToMirrorBytes != 0 {
		t.Errorf("got %+v", stats)
	}
}

func TestAGuestThatCannotBeReachedNeverCostsTheMirror(t *testing.T) {
	p := newPeers(t)
	p.config.DialGuest = func(context.Context) (net.Conn, error) { return nil, errors.New("gone") }
	p.config.DialMirror = func(context.Context) (net.Conn, error) {
		t.Error("the mirror was dialed")
		return nil, errors.New("no")
	}
	c := New(p.config)
	c.Request(3)
	waitFor(t, "they are counted", func() bool { return c.Stats().Failed == 3 })
	if stats := c.Close(); stats.Connections != 0 {
		t.Errorf("got %+v", stats)
	}
}

func TestAGuestThatVanishesMidwayEndsTheMirrorsConnection(t *testing.T) {
	p := newPeers(t)
	serve(p.guest, func(conn *net.TCPConn) {
		readKey(t, conn)
		_, _ = conn.Write([]byte("half a requ"))
		_ = conn.SetLinger(0) // The close resets the connection, as a dead VM does.
	})
	ended := make(chan struct{})
	serve(p.mirror, func(conn *net.TCPConn) {
		_, _ = io.Copy(io.Discard, conn)
		close(ended)
	})
	before := runtime.NumGoroutine()
	c := New(p.config)
	c.Request(1)
	<-ended
	waitFor(t, "it ended", func() bool { return c.Stats().Connections == 1 })
	c.Close()
	wantNoLeak(t, before)
}

func TestIdleConnectionsEnd(t *testing.T) {
	cases := map[string]func(*net.TCPConn){
		"when the mirror says nothing": func(conn *net.TCPConn) { _, _ = io.ReadAll(conn) },
		"when the mirror does not read": func(conn *net.TCPConn) {
			time.Sleep(10 * time.Second)
		},
	}
	for name, mirror := range cases {
		t.Run(name, func(t *testing.T) {
			p := newPeers(t)
			p.config.IdleTimeout = 100 * time.Millisecond
			serve(p.mirror, mirror)
			serve(p.guest, func(conn *net.TCPConn) {
				readKey(t, conn)
				_, _ = conn.Write(make([]byte, 32<<20))
				_, _ = io.ReadAll(conn)
			})
			c := New(p.config)
			defer c.Close()
			c.Request(1)
			waitFor(t, "it ended", func() bool { return c.Stats().Connections == 1 })
		})
	}
}

func TestASlowConnectionThatMovesIsKept(t *testing.T) {
	p := newPeers(t)
	p.config.IdleTimeout = 200 * time.Millisecond
	serve(p.mirror, func(conn *net.TCPConn) {
		for range 10 {
			time.Sleep(60 * time.Millisecond)
			_, _ = conn.Write([]byte("."))
		}
	})
	got := make(chan string)
	serve(p.guest, func(conn *net.TCPConn) {
		readKey(t, conn)
		text, _ := io.ReadAll(conn)
		got <- string(text)
	})
	c := New(p.config)
	defer c.Close()
	c.Request(1)
	if text := <-got; text != ".........." {
		t.Errorf("got %q", text)
	}
}

func TestCloseEndsEverythingWithinItsBound(t *testing.T) {
	p := newPeers(t)
	serve(p.guest, func(conn *net.TCPConn) { _, _ = io.Copy(io.Discard, conn) })
	serve(p.mirror, func(conn *net.TCPConn) { _, _ = io.Copy(io.Discard, conn) })
	var dialing atomic.Int64
	guest := p.config.DialGuest
	p.config.DialGuest = func(ctx context.Context) (net.Conn, error) {
		if dialing.Add(1)%2 == 0 { // Every second dial hangs.
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return guest(ctx)
	}
	before := runtime.NumGoroutine()
	c := New(p.config)
	c.Request(64 + 64)
	waitFor(t, "half are dialing", func() bool { return dialing.Load() == 64 })
	start := time.Now()
	stats := c.Close()
	if took := time.Since(start); took > closeTimeout/2 {
		t.Errorf("took %s", took)
	}
	if stats.Connections != 32 || stats.Failed != 0 {
		t.Errorf("got %+v", stats)
	}
	c.Request(1)
	if again := c.Close(); again != stats || dialing.Load() != 64 {
		t.Errorf("after close: %+v, %d dials", again, dialing.Load())
	}
	wantNoLeak(t, before)
}

func TestCloseDoesNotWaitForADialerThatIgnoresItsContext(t *testing.T) {
	p := newPeers(t)
	hang := make(chan struct{})
	defer close(hang)
	p.config.DialGuest = func(context.Context) (net.Conn, error) { <-hang; return nil, errors.New("late") }
	c := New(p.config)
	c.Request(1)
	done := make(chan struct{})
	go func() { c.Close(); close(done) }()
	select {
	case <-done:
	case <-time.After(closeTimeout + 2*time.Second):
		t.Error("close hangs")
	}
}
