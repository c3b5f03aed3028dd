package placement

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// inside runs do in the pod's network namespace. A socket keeps the namespace it
// was made in, so only its making needs this.
func (p *Pod) inside(do func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.netns == nil {
		return errReleased
	}
	done := make(chan error, 1)
	go func() {
		// Never unlocked: the thread ends with the goroutine, so no other can ever
		// find itself in the pod's network.
		runtime.LockOSThread()
		if err := unix.Setns(int(p.netns.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- fmt.Errorf("enter the pod's network: %w", err)
			return
		}
		done <- do()
	}()
	return <-done
}

var loopback = [4]byte{127, 0, 0, 1}

// connect takes over a non-blocking socket and connects it to a loopback port.
func connect(ctx context.Context, socket, port int) (net.Conn, error) {
	err := fmt.Errorf("port %d: want 1 to 65535", port)
	if port > 0 && port <= 65535 {
		err = unix.Connect(socket, &unix.SockaddrInet4{Addr: loopback, Port: port})
	}
	// Only now: the poller takes a socket that is not connecting for hung up.
	file := os.NewFile(uintptr(socket), "socket")
	defer file.Close() // net.FileConn duplicates it.
	if errors.Is(err, unix.EINPROGRESS) {
		err = awaitConnect(ctx, file)
	}
	if err != nil {
		return nil, err
	}
	return net.FileConn(file)
}

// awaitConnect waits until the socket is writable and asks how that came about.
func awaitConnect(ctx context.Context, file *os.File) error {
	stop := context.AfterFunc(ctx, func() { _ = file.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	asked := false
	var outcome error
	err = raw.Write(func(fd uintptr) bool {
		if !asked {
			asked = true
			return false
		}
		code, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
		if err == nil && code != 0 {
			err = syscall.Errno(code)
		}
		outcome = err
		return true
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	if err != nil {
		return err
	}
	return outcome
}

func freePort() (int, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(socket)
	if err := unix.Bind(socket, &unix.SockaddrInet4{Addr: loopback}); err != nil {
		return 0, err
	}
	address, err := unix.Getsockname(socket)
	if err != nil {
		return 0, err
	}
	inet, ok := address.(*unix.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("bound to %T", address)
	}
	return inet.Port, nil
}
