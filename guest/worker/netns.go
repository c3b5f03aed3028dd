package worker

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// netns is the network namespace of one command: nothing but its loopback.
type netns struct {
	// path names it for crun.
	path string
	// listener, if asked for, is the relay's ear on the namespace's loopback.
	listener net.Listener
}

// newNetns makes a namespace with its loopback up and binds it to path. With a
// port, it also listens there on 127.0.0.1 before any worker can.
func newNetns(path string, port int) (*netns, error) {
	n := &netns{path: path}
	done := make(chan error, 1)
	go func() {
		// The thread is not unlocked: it must die with the goroutine, for it lives in
		// the worker's namespace.
		runtime.LockOSThread()
		done <- n.enter(port)
	}()
	if err := <-done; err != nil {
		return nil, errors.Join(fmt.Errorf("worker network: %w", err), n.close())
	}
	return n, nil
}

func (n *netns) enter(port int) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	if err := loopbackUp(); err != nil {
		return err
	}
	if err := os.WriteFile(n.path, nil, 0o600); err != nil {
		return err
	}
	if err := unix.Mount("/proc/thread-self/ns/net", n.path, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	if port == 0 {
		return nil
	}
	listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	n.listener = listener
	return err
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// close lets the namespace go.
func (n *netns) close() error {
	var failures []error
	if n.listener != nil {
		failures = append(failures, n.listener.Close())
	}
	if err := unix.Unmount(n.path, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		failures = append(failures, err)
	}
	return errors.Join(append(failures, os.RemoveAll(n.path))...)
}
