package placement

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
)

// Pod is one pod of this node, held by its network namespace: a pod that is gone
// and whose pids are others' is never mistaken for it.
type Pod struct {
	cgroups []string

	mu    sync.Mutex
	netns *os.File
}

// errReleased is what a released pod answers.
var errReleased = errors.New("the pod was released")

// Place makes the VM's cgroup, a child of the pod's, in each hierarchy, and
// returns where a VM process goes. It may be called for each boot. The placement
// is valid until Release, in processes of any PID namespace that sees this one.
func (p *Pod) Place() (hypervisor.Placement, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.netns == nil {
		return hypervisor.Placement{}, errReleased
	}
	placement := hypervisor.Placement{NetNS: fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), p.netns.Fd())}
	for _, dir := range p.cgroups {
		child, err := makeChild(dir)
		if err != nil {
			return hypervisor.Placement{}, err
		}
		placement.Cgroups = append(placement.Cgroups, child)
	}
	return placement, nil
}

// Dial connects to a TCP port of the loopback inside the pod.
func (p *Pod) Dial(ctx context.Context, port int) (net.Conn, error) {
	var socket int
	err := p.inside(func() (err error) {
		socket, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("socket inside the pod: %w", err)
	}
	conn, err := connect(ctx, socket, port)
	if err != nil {
		return nil, fmt.Errorf("dial port %d inside the pod: %w", port, err)
	}
	return conn, nil
}

// FreePort returns a TCP port of the pod's loopback that was free a moment ago.
func (p *Pod) FreePort() (int, error) {
	port := 0
	err := p.inside(func() (err error) {
		port, err = freePort()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("free port inside the pod: %w", err)
	}
	return port, nil
}

// Release kills what is left in the VM's cgroups, removes them, and lets go of the
// pod. It returns nil if they are gone already, as after the pod's deletion; after
// an error it may be called again.
func (p *Pod) Release() error {
	children := make([]string, 0, len(p.cgroups))
	for _, dir := range p.cgroups {
		children = append(children, filepath.Join(dir, vmCgroup))
	}
	return errors.Join(removeChildren(children), p.closeNamespace())
}

func (p *Pod) closeNamespace() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.netns == nil {
		return nil
	}
	err := p.netns.Close()
	p.netns = nil
	return err
}
