//go:build proxy

package proxy

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/cacheaudit"
	"github.com/ai-dossier/zt-operator/internal/policy"
	"github.com/ai-dossier/zt-operator/internal/registries"
)

// volume is a folder that has room for so many KiB.
func volume(t *testing.T, kib int) string {
	t.Helper()
	dir := folder(t, 0o777)
	run(t, "mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dk,mode=1777", kib), "tmpfs", dir)
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	return dir
}

func (c *chain) file(name string) string {
	if c.ecosystem == v1alpha1.EcosystemNPM {
		return fakeTarball(name)
	}
	return "/index/" + name + "/" + name + "-1.0-py3-none-any.whl"
}

func TestAMirrorWhoseDiskIsFullCachesNoHalfFile(t *testing.T) {
	for name, start := range chains {
		t.Run(name, func(t *testing.T) {
			c := start(t, volume(t, 200))
			for _, file := range []string{"first", "second"} {
				got := make(chan answer, 1)
				go func() { got <- c.mirror.get(c.top, c.file(file)) }()
				select {
				case a := <-got:
					// Handing the bytes on without keeping them is no harm.
					t.Logf("%s: status %d, %d bytes", file, a.status, len(a.text))
					if a.status == 200 && a.whole() && len(a.text) < wheelSize {
						t.Errorf("%s is announced as whole with %d bytes", file, len(a.text))
					}
				case <-time.After(15 * time.Second):
					t.Errorf("%s is still waited for", file)
				}
			}
			c.wantNoWholeFile(t)
			if list := cacheaudit.Make(context.Background(), os.DirFS(c.mirror.storage)); list.Problem != "" {
				t.Errorf("the cache cannot be audited: %s", list.Problem)
			}
			c.squid.cleanAudit(t, c.squid.policy, 1)
		})
	}
}

// A Squid that cannot log must not serve: what it let out would not be known.
func TestASquidThatCannotWriteItsLogEnds(t *testing.T) {
	room := volume(t, 8<<10)
	top := newTopology(t)
	top.fakeWorld(t)
	w := newWorld(t, top, map[string][]netip.Addr{registries.NPMHost: {netip.MustParseAddr(upstreamIP)}})
	s := startSquid(t, top, squidOptions{spec: policy.Default(), upstreamCA: w.caPEM, nameservers: []string{upstreamIP}, run: room})
	if reply := s.send(top, exchange{connect: npm, http: get("/semver", "Connection: close")}); reply.status != 200 {
		t.Fatalf("%+v", reply)
	}
	filler, err := os.Create(filepath.Join(room, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer filler.Close()
	for block := make([]byte, 4096); ; {
		if _, err := filler.Write(block); err != nil {
			break
		}
	}
	served := 1
	for begun := time.Now(); runs(s.cmd.Process.Pid); time.Sleep(20 * time.Millisecond) {
		if reply := s.send(top, exchange{connect: npm, http: get("/semver", "Connection: close")}); reply.status == 200 {
			served++
		}
		if time.Since(begun) > 15*time.Second {
			t.Fatalf("it still runs; requests served meanwhile: %d", served)
		}
	}
	logged := strings.Count(s.log(), `"rule":"allow_npm"`)
	<-s.ended
	_ = s.cmd.Wait()
	if served == 0 || served > logged+1 {
		t.Errorf("served %d requests and logged %d", served, logged)
	}
	said := s.stderr.String()
	if end := said[max(0, len(said)-200):]; !strings.Contains(end, "FATAL: logfileWrite") {
		t.Errorf("it does not end with why: %q", said)
	}
}

// memoryLimit moves a process into a control group with so many MiB more than it has.
func memoryLimit(t *testing.T, pid, more int) {
	t.Helper()
	group, limit := fmt.Sprintf("/sys/fs/cgroup/memory/zt-t-%d", pid), "memory.limit_in_bytes"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		group, limit = fmt.Sprintf("/sys/fs/cgroup/zt-t-%d", pid), "memory.max"
		_ = os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+memory"), 0)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	resident, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 100 {
			if os.Remove(group) == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Errorf("%s is left", group)
	})
	for file, value := range map[string]int{limit: resident<<10 + more<<20, "cgroup.procs": pid} {
		if err := os.WriteFile(filepath.Join(group, file), []byte(strconv.Itoa(value)), 0); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAMirrorWithoutMemoryEndsAtOnceAndSoDoItsClients(t *testing.T) {
	c := chains["Verdaccio"](t, folder(t, 0o777))
	// A document as large as this is not over the policy's limit.
	memoryLimit(t, c.mirror.pid, 16)
	got := make(chan answer, 1)
	go func() { got <- c.mirror.get(c.top, "/huge") }()
	wantBroken(t, got, clientTimeout)
	wantEnded(t, "the mirror", c.mirror.pid, 5*time.Second)
	c.wantNoWholeFile(t)
	c.squid.cleanAudit(t, c.squid.policy, 1)
}
