package channel

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"testing"
	"time"
)

// descriptors counts the open files of this process.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// wantNothingOpen checks that goroutines and descriptors of a test are gone.
func wantNothingOpen(t *testing.T, goroutines, files int) {
	t.Helper()
	wantNoLeak(t, goroutines)
	waitFor(t, "every descriptor is closed", func() bool { return descriptors(t) <= files })
}

func TestThousandsOfConnectionsThatFailLeaveNothingOpen(t *testing.T) {
	for name, tc := range map[string]struct {
		mirror func(*net.TCPConn)
		dial   func(context.Context) (net.Conn, error)
		failed bool
	}{
		"no mirror is there":                 {dial: func(context.Context) (net.Conn, error) { return nil, errors.New("refused") }, failed: true},
		"the mirror resets at once":          {mirror: func(c *net.TCPConn) { _ = c.SetLinger(0) }},
		"the mirror resets amid its answer":  {mirror: func(c *net.TCPConn) { _, _ = c.Write(make([]byte, 1000)); _ = c.SetLinger(0) }},
		"the mirror closes without a word":   {mirror: func(*net.TCPConn) {}},
		"the mirror half-closes and listens": {mirror: func(c *net.TCPConn) { _ = c.CloseWrite(); _, _ = io.Copy(io.Discard, c) }},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeers(t)
			if tc.dial != nil {
				p.config.DialMirror = tc.dial
			}
			ended := make(chan struct{}, 64)
			serve(p.guest, func(conn *net.TCPConn) {
				_, _ = conn.Write([]byte("GET /"))
				_ = conn.CloseWrite()
				_, _ = io.Copy(io.Discard, conn)
				ended <- struct{}{}
			})
			serve(p.mirror, func(c *net.TCPConn) { tc.mirror(c) })
			goroutines, files := runtime.NumGoroutine(), descriptors(t)
			c := New(p.config)
			const count = 1000
			for range count {
				c.Request(1)
				<-ended
			}
			waitFor(t, "all connections ended", func() bool { return c.Stats().Connections == count })
			if stats := c.Close(); (stats.Failed == count) != tc.failed || stats.Refused != 0 {
				t.Errorf("got %+v", stats)
			}
			wantNothingOpen(t, goroutines, files)
		})
	}
}

func TestASlowPeerDelaysNobodyElse(t *testing.T) {
	p := newPeers(t)
	text := bytes.Repeat([]byte("x"), 1<<20)
	release := make(chan struct{})
	slow := make(chan struct{}, 1)
	slow <- struct{}{}
	done := make(chan int, 64)
	serve(p.mirror, func(conn *net.TCPConn) { _, _ = conn.Write(text) })
	serve(p.guest, func(conn *net.TCPConn) {
		if !readKey(t, conn) {
			return
		}
		select {
		case <-slow:
			<-release // reads nothing of it for now
		default:
		}
		n, _ := io.Copy(io.Discard, conn)
		done <- int(n)
	})
	goroutines, files := runtime.NumGoroutine(), descriptors(t)
	c := New(p.config)
	c.Request(64)
	for i := range 64 {
		if i == 63 {
			close(release)
		}
		select {
		case n := <-done:
			if n != len(text) {
				t.Errorf("a peer got %d bytes", n)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%d peers are done", i)
		}
	}
	if stats := c.Close(); stats.ToGuestBytes != int64(64*len(text)) {
		t.Errorf("got %+v", stats)
	}
	wantNothingOpen(t, goroutines, files)
}

// What a slow guest has not read yet stays with the mirror, not in this process.
func TestAGuestThatReadsSlowlyHoldsTheMirrorBack(t *testing.T) {
	p := newPeers(t)
	const size = 64 << 20
	serve(p.mirror, func(conn *net.TCPConn) {
		for block := make([]byte, 1<<16); ; {
			if _, err := conn.Write(block); err != nil {
				return
			}
		}
	})
	begin := make(chan struct{})
	got := make(chan int64)
	serve(p.guest, func(conn *net.TCPConn) {
		if !readKey(t, conn) {
			return
		}
		<-begin
		n, _ := io.CopyN(io.Discard, conn, size)
		got <- n
	})
	c := New(p.config)
	defer c.Close()
	c.Request(1)
	carried := int64(-1)
	waitFor(t, "nothing moves", func() bool {
		before := carried
		time.Sleep(100 * time.Millisecond)
		carried = c.Stats().ToGuestBytes
		return carried == before
	})
	if carried > size/2 {
		t.Errorf("%d bytes were taken from the mirror for a guest that reads nothing", carried)
	}
	close(begin)
	if n := <-got; n != size {
		t.Errorf("the guest got %d bytes", n)
	}
}
