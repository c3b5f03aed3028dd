package placement

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// A thread that has entered a pod's namespace is thrown away with its goroutine.
// The main thread cannot be: it would stay there, and /proc/self with it. So the
// main goroutine keeps it for itself.
func init() { runtime.LockOSThread() }

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

// awaitConnect waits until the connection is made or refused.
func awaitConnect(ctx context.Context, file *os.File) error {
	stop := context.AfterFunc(ctx, func() { _ = file.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var outcome error
	err = raw.Write(func(fd uintptr) (over bool) {
		over, outcome = connected(int(fd))
		return over
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	if err != nil {
		return err
	}
	return outcome
}

// connected asks for the state each time, the first included: the poller tells of a
// change once, and it may have come before anybody waited for it.
func connected(socket int) (over bool, err error) {
	code, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return true, err
	}
	if code != 0 {
		return true, unix.Errno(code)
	}
	_, err = unix.Getpeername(socket)
	if errors.Is(err, unix.ENOTCONN) {
		return false, nil
	}
	return true, err
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
