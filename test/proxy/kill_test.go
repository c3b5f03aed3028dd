//go:build proxy

package proxy

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/cacheaudit"
	"github.com/ai-dossier/zt-operator/internal/policy"
	"github.com/ai-dossier/zt-operator/internal/registries"
)

// chain is a mirror and a Squid before a fake registry, and a file that the registry
// never ends.
type chain struct {
	top       *topology
	squid     *squid
	mirror    *mirror
	ecosystem v1alpha1.Ecosystem
	// endless is the path of that file at the mirror; streaming tells that it began.
	endless   string
	streaming chan struct{}
}

// chains build one for each mirror program; storage is where it caches.
var chains = map[string]func(t *testing.T, storage string) *chain{
	"Verdaccio": func(t *testing.T, storage string) *chain {
		registry := &fakeNPM{streaming: make(chan struct{}, 16)}
		c := newChain(t, v1alpha1.EcosystemNPM, registry.ServeHTTP, registries.NPMHost)
		c.endless, c.streaming = fakeTarball("drip"), registry.streaming
		c.mirror = startNPMMirror(t, c.top, c.squid, storage)
		return c
	},
	"proxpi": func(t *testing.T, storage string) *chain {
		registry := &fakePyPI{seen: map[string]int{}, streaming: make(chan struct{}, 16)}
		c := newChain(t, v1alpha1.EcosystemPip, registry.ServeHTTP, registries.PyPIHost, registries.FilesHost)
		c.endless, c.streaming = "/index/drip/drip-1.0-py3-none-any.whl", registry.streaming
		c.mirror = startPyPIMirror(t, c.top, c.squid, storage)
		return c
	},
}

func newChain(t *testing.T, ecosystem v1alpha1.Ecosystem, registry func(http.ResponseWriter, *http.Request), hosts ...string) *chain {
	t.Helper()
	top := newTopology(t)
	top.fakeWorld(t)
	records := map[string][]netip.Addr{}
	for _, host := range hosts {
		records[host] = []netip.Addr{netip.MustParseAddr(upstreamIP)}
	}
	w := newWorld(t, top, records)
	w.registry = registry
	s := startSquid(t, top, squidOptions{
		spec: policy.Default(), ecosystem: ecosystem, upstreamCA: w.caPEM, nameservers: []string{upstreamIP}, edit: impatient,
	})
	return &chain{top: top, squid: s, ecosystem: ecosystem}
}

// stream asks the mirror for the endless file, and returns what the client got by the
// time the mirror ended the connection.
func (c *chain) stream(t *testing.T) <-chan answer {
	t.Helper()
	got := make(chan answer, 1)
	go func() { got <- c.mirror.get(c.top, c.endless) }()
	select {
	case <-c.streaming:
	case <-time.After(clientTimeout):
		t.Fatalf("the registry was never asked for it: %.500v; %s", <-got, tailOf(c.squid.log()))
	}
	time.Sleep(200 * time.Millisecond) // some of it is on its way through all of them
	return got
}

// wantBroken wants the client to see a failure within a bound: no answer, an error, or
// fewer bytes than were announced.
func wantBroken(t *testing.T, got <-chan answer, within time.Duration) {
	t.Helper()
	begun := time.Now()
	select {
	case a := <-got:
		if a.status == 200 && a.whole() {
			t.Errorf("the client got a whole file: %.300s", a.text)
		}
		t.Logf("the client saw status %d and %d bytes after %s", a.status, len(a.text), time.Since(begun).Round(time.Millisecond))
	case <-time.After(within):
		t.Errorf("the client still waits after %s", within)
	}
}

// whole is true if the body is as long as its header says.
func (a answer) whole() bool {
	header, body, _ := strings.Cut(a.text, "\r\n\r\n")
	for line := range strings.SplitSeq(header, "\r\n") {
		if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(name, "Content-Length") {
			return strings.TrimSpace(value) == fmt.Sprint(len(body))
		}
	}
	// Chunked: the last one is empty.
	return strings.HasSuffix(body, "\r\n0\r\n\r\n") || !strings.Contains(strings.ToLower(header), "chunked")
}

// wantNoWholeFile wants nothing in the mirror's cache that an audit would take for a
// package.
func (c *chain) wantNoWholeFile(t *testing.T) {
	t.Helper()
	list := cacheaudit.Make(context.Background(), os.DirFS(c.mirror.storage))
	if list.Problem != "" || len(list.Artifacts) > 0 {
		t.Errorf("the cache has %+v (%s), want no package", list.Artifacts, list.Problem)
	}
}

// wantEnded wants a process to be gone within a bound.
func wantEnded(t *testing.T, what string, pid int, within time.Duration) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < within; time.Sleep(10 * time.Millisecond) {
		if !runs(pid) {
			return
		}
	}
	t.Errorf("%s still runs after %s", what, within)
}

// runs is false for a process that is gone or waits for its parent.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

func TestASquidThatIsKilledWhileAPackageStreamsEndsItEverywhere(t *testing.T) {
	for name, start := range chains {
		t.Run(name, func(t *testing.T) {
			c := start(t, folder(t, 0o777))
			got := c.stream(t)
			_ = syscall.Kill(childNamed(t, c.squid.cmd.Process.Pid, "squid"), syscall.SIGKILL)
			wantBroken(t, got, 10*time.Second)
			wantEnded(t, "Squid's container", c.squid.cmd.Process.Pid, 10*time.Second)
			t.Run("what comes after fails as promptly", func(t *testing.T) {
				after := make(chan answer, 1)
				go func() { after <- c.mirror.get(c.top, strings.ReplaceAll(c.endless, "drip", "later")) }()
				wantBroken(t, after, 15*time.Second)
			})
			c.wantNoWholeFile(t)
			if egress := c.squid.egress(t); egress.Truncated {
				t.Errorf("the log is not whole: %+v", egress)
			}
		})
	}
}

func TestAMirrorThatIsKilledWhileAPackageStreamsLeavesAWholeLog(t *testing.T) {
	for name, start := range chains {
		t.Run(name, func(t *testing.T) {
			c := start(t, folder(t, 0o777))
			got := c.stream(t)
			_ = syscall.Kill(c.mirror.pid, syscall.SIGKILL)
			wantBroken(t, got, 5*time.Second)
			wantEnded(t, "the mirror", c.mirror.pid, 5*time.Second)
			c.wantNoWholeFile(t)
			if conn, err := dial(c.top.mirror, mirrorIP, c.mirror.address); err == nil {
				conn.Close()
				t.Error("something still listens where the mirror did")
			}
			c.squid.cleanAudit(t, policy.Default(), 1)
			if egress := c.squid.egress(t); len(egress.Failures) != 0 || egress.Failed == 0 {
				t.Errorf("egress is %+v: a mirror that left is no failure of the registry", egress)
			}
		})
	}
}
