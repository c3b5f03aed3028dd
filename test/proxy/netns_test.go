//go:build proxy

package proxy

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The namespaces of one test, joined as a mirror pod, a Squid pod and the world:
//
//	mirror 10.231.0.10, .11 ── 10.231.0.2 squid 198.51.100.2 ── 198.51.100.10 upstream
//
// upstream is every other address as well: it owns the ones a request might be
// lured to, so that a connection that should not exist is seen, not lost.
const (
	mirrorIP   = "10.231.0.10"
	strangerIP = "10.231.0.11"
	squidIP    = "10.231.0.2"
	upstreamIP = "198.51.100.10"
)

// The link to the real network has addresses of its own in each process: two of them
// may run on one machine.
var (
	natGateway = fmt.Sprintf("198.18.%d.1", os.Getpid()%256)
	natIP      = fmt.Sprintf("198.18.%d.2", os.Getpid()%256)
)

type topology struct {
	mirror, squid, upstream string
	// outside is the host's end of the link to the real network, if there is one.
	outside string
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	var output bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, output.String())
	}
}

func ip(t *testing.T, namespace, args string) {
	t.Helper()
	run(t, "ip", append([]string{"-n", namespace}, strings.Fields(args)...)...)
}

func newTopology(t *testing.T) *topology {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("these tests make network namespaces: run them as root")
	}
	prefix := fmt.Sprintf("zt-t-%d", os.Getpid())
	top := &topology{mirror: prefix + "-m", squid: prefix + "-s", upstream: prefix + "-u"}
	for _, namespace := range []string{top.mirror, top.squid, top.upstream} {
		run(t, "ip", "netns", "add", namespace)
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", namespace).Run() })
		ip(t, namespace, "link set lo up")
	}
	ip(t, top.mirror, "link add eth0 type veth peer name mirror netns "+top.squid)
	ip(t, top.mirror, "addr add "+mirrorIP+"/24 dev eth0")
	ip(t, top.mirror, "addr add "+strangerIP+"/24 dev eth0")
	ip(t, top.mirror, "link set eth0 up")
	ip(t, top.squid, "addr add "+squidIP+"/24 dev mirror")
	ip(t, top.squid, "link set mirror up")
	return top
}

// fakeWorld joins Squid to the upstream namespace and routes everything there.
func (top *topology) fakeWorld(t *testing.T, lures ...string) {
	t.Helper()
	ip(t, top.squid, "link add world type veth peer name eth0 netns "+top.upstream)
	ip(t, top.squid, "addr add 198.51.100.2/24 dev world")
	ip(t, top.squid, "addr add 2001:db8::2/64 dev world nodad")
	ip(t, top.squid, "link set world up")
	ip(t, top.upstream, "addr add "+upstreamIP+"/24 dev eth0")
	ip(t, top.upstream, "addr add 2001:db8::10/64 dev eth0 nodad")
	ip(t, top.upstream, "link set eth0 up")
	ip(t, top.squid, "route add default via "+upstreamIP)
	ip(t, top.squid, "-6 route add default via 2001:db8::10")
	for _, lure := range lures {
		ip(t, top.upstream, "addr add "+lure+" dev lo")
	}
}

// realWorld joins Squid to the machine's network by masquerade.
func (top *topology) realWorld(t *testing.T) {
	t.Helper()
	top.outside = fmt.Sprintf("zt-t-%d", os.Getpid()%1000000)
	ip(t, top.squid, "link add world type veth peer name "+top.outside+" netns 1")
	t.Cleanup(func() { _ = exec.Command("ip", "link", "del", top.outside).Run() })
	ip(t, top.squid, "addr add "+natIP+"/30 dev world")
	ip(t, top.squid, "link set world up")
	run(t, "ip", "addr", "add", natGateway+"/30", "dev", top.outside)
	run(t, "ip", "link", "set", top.outside, "up")
	ip(t, top.squid, "route add default via "+natGateway)
	// Forwarding is left on: another test or a cluster may rely on it by now.
	run(t, "sysctl", "-qw", "net.ipv4.ip_forward=1")
	table := top.outside
	run(t, "nft", "add table ip "+table)
	t.Cleanup(func() { _ = exec.Command("nft", "delete table ip "+table).Run() })
	run(t, "nft", "add chain ip "+table+" nat { type nat hook postrouting priority 100 ; }")
	run(t, "nft", "add rule ip "+table+" nat ip saddr "+natIP+" masquerade")
}

// inNamespace calls do on a thread of its own inside a network namespace. Sockets
// that do makes stay there.
func inNamespace(namespace string, do func() error) error {
	result := make(chan error)
	go func() {
		// The thread is not unlocked: it ends with the goroutine, so no other one
		// inherits the namespace.
		runtime.LockOSThread()
		fd, err := unix.Open("/run/netns/"+namespace, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			result <- err
			return
		}
		defer unix.Close(fd)
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			result <- err
			return
		}
		result <- do()
	}()
	return <-result
}
