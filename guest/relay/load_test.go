package relay_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// answerAll answers every demand by a host connection that do serves, until the test
// ends.
func (w *world) answerAll(t *testing.T, do func(net.Conn)) {
	t.Helper()
	ended := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-w.dials:
			case <-ended:
				return
			}
			running.Go(func() {
				conn, err := net.Dial("tcp4", w.guest)
				if err != nil {
					return
				}
				defer conn.Close()
				if _, err := conn.Write(key); err == nil {
					do(conn)
				}
			})
		}
	})
	t.Cleanup(func() { close(ended); running.Wait() })
}

func echo(conn net.Conn) {
	text, _ := io.ReadAll(conn)
	_, _ = conn.Write(text)
}

// exchange sends text on a new worker connection, half-closes it, and returns what
// comes back.
func (w *world) exchange(text []byte) ([]byte, error) {
	conn, err := net.Dial("tcp4", w.worker)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	go func() { _, _ = conn.Write(text); _ = conn.(*net.TCPConn).CloseWrite() }()
	return io.ReadAll(conn)
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// settled waits until no more goroutines and descriptors are open than before.
func settled(t *testing.T, goroutines, files int) {
	t.Helper()
	for range 500 {
		// The pipes that the kernel splices through are kept for the next connection
		// until a collection.
		runtime.GC()
		if runtime.NumGoroutine() <= goroutines && openFiles(t) <= files {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<16)
	t.Errorf("%d goroutines and %d descriptors, %d and %d before:\n%s",
		runtime.NumGoroutine(), openFiles(t), goroutines, files, stacks[:runtime.Stack(stacks, true)])
}

func TestAThousandConnectionsOneAfterTheOtherLeaveNothingOpen(t *testing.T) {
	w := newWorld(t, loopback)
	w.answerAll(t, echo)
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	for i := range 1000 {
		if back, err := w.exchange([]byte("GET /")); err != nil || string(back) != "GET /" {
			t.Fatalf("connection %d: %q, %v", i, back, err)
		}
	}
	settled(t, goroutines, files)
}

func TestSixtyFourConnectionsAtOnceAreAllCarried(t *testing.T) {
	w := newWorld(t, loopback)
	w.answerAll(t, func(conn net.Conn) { _, _ = io.Copy(conn, conn); _ = conn.(*net.TCPConn).CloseWrite() })
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	text := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	var group sync.WaitGroup
	for range 64 {
		group.Go(func() {
			if back, err := w.exchange(text); err != nil || !bytes.Equal(back, text) {
				t.Errorf("%d bytes, %v", len(back), err)
			}
		})
	}
	group.Wait()
	settled(t, goroutines, files)
}

func TestWorkersThatLeaveEarlyLeaveNothingOpen(t *testing.T) {
	for name, leave := range map[string]func(*net.TCPConn){
		"before the host comes": func(*net.TCPConn) {},
		"amid their request":    func(c *net.TCPConn) { _, _ = c.Write([]byte("GET /")) },
		"by a reset":            func(c *net.TCPConn) { _, _ = c.Write([]byte("GET /")); _ = c.SetLinger(0) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, loopback)
			w.answerAll(t, echo)
			goroutines, files := runtime.NumGoroutine(), openFiles(t)
			for range 200 {
				conn, err := net.Dial("tcp4", w.worker)
				if err != nil {
					t.Fatal(err)
				}
				leave(conn.(*net.TCPConn))
				conn.Close()
			}
			if back, err := w.exchange([]byte("still there")); err != nil || string(back) != "still there" {
				t.Errorf("afterwards: %q, %v", back, err)
			}
			settled(t, goroutines, files)
		})
	}
}

func TestASlowHostDelaysNobodyElse(t *testing.T) {
	w := newWorld(t, loopback)
	release := make(chan struct{})
	w.answerAll(t, func(conn net.Conn) {
		text, _ := io.ReadAll(conn)
		if strings.HasPrefix(string(text), "slow") {
			<-release
		}
		_, _ = conn.Write(text)
	})
	slow := make(chan string)
	go func() {
		back, _ := w.exchange([]byte("slow"))
		slow <- string(back)
	}()
	for range 50 {
		if back, err := w.exchange([]byte("fast")); err != nil || string(back) != "fast" {
			t.Fatalf("%q, %v", back, err)
		}
	}
	close(release)
	if back := <-slow; back != "slow" {
		t.Errorf("the slow one got %q", back)
	}
}
