package fake

import (
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// A thread that changed its uid is thrown away with its goroutine; the main thread
// cannot be.
func init() { runtime.LockOSThread() }

// dialAs connects as the uid that the VM's process would have: the broker admits
// no other.
func dialAs(uid uint32, socket string) (net.Conn, error) {
	if int(uid) == os.Geteuid() {
		return net.Dial("unix", socket)
	}
	type result struct {
		conn net.Conn
		err  error
	}
	dialled := make(chan result)
	go func() {
		// The thread is not unlocked: it ends with the goroutine, and its uid with it.
		runtime.LockOSThread()
		conn, err := becomeAndDial(uid, socket)
		dialled <- result{conn, err}
	}()
	r := <-dialled
	return r.conn, r.err
}

func becomeAndDial(uid uint32, socket string) (net.Conn, error) {
	// The raw call changes this thread only.
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); errno != 0 {
		return nil, fmt.Errorf("become uid %d: %w", uid, errno)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket: %w", err)
	}
	file := os.NewFile(uintptr(fd), socket)
	defer file.Close()
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: socket}); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", socket, err)
	}
	return net.FileConn(file)
}
