//go:build proxy

package proxy

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/internal/policy"
	"github.com/ai-dossier/zt-operator/internal/proxyca"
)

// refused is the exit code of a configuration that is not to be run.
const refused = 78

func TestTheEntryPointRefusesWhatSquidComplainsAbout(t *testing.T) {
	top := newTopology(t)
	valid, err := policy.RenderSquid(policy.Default(), policy.SquidParams{MirrorIP: mirrorIP})
	if err != nil {
		t.Fatal(err)
	}
	certPEM, keyPEM, err := proxyca.New(time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := string(certPEM) + string(keyPEM)
	for name, tc := range map[string]struct{ config, ca, says string }{
		"a pattern that does not compile":  {valid + "acl bad urlpath_regex ^/(a$\n", ca, "Unmatched"},
		"a directive that does not exist":  {valid + "no_such_directive on\n", ca, "no_such_directive"},
		"a range inside another":           {valid + "acl forbidden_dst dst 10.1.0.0/16\n", ca, "10.1.0.0/16"},
		"a setting that Squid warns about": {valid + "via off\n", ca, "Via"},
		"a certificate without its key":    {valid, string(certPEM), "ca.pem"},
		"no configuration":                 {"", ca, "squid.conf"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &squid{dir: squidDir(t)}
			config := strings.NewReplacer("/etc/zt/squid", s.dir+"/conf", "/run/squid", s.dir+"/run").Replace(tc.config)
			if config != "" {
				s.write(t, "conf/squid.conf", []byte(config))
			}
			s.write(t, "conf/ca.pem", []byte(tc.ca))
			cmd := s.command(top.squid)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
			defer timer.Stop()
			err := cmd.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != refused {
				t.Errorf("ended with %v, want exit code %d", err, refused)
			}
			if !strings.Contains(stderr.String(), "refused to start") || !strings.Contains(stderr.String(), tc.says) {
				t.Errorf("it does not say why: %q", stderr.String())
			}
			if stdout.Len() > 0 {
				t.Errorf("it wrote a log: %q", stdout.String())
			}
		})
	}
}

func TestTheContainerEndsWithSquidAndItsLogIsWhole(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, entrypoint int){
		"asked by the kubelet": func(t *testing.T, entrypoint int) {
			_ = syscall.Kill(entrypoint, syscall.SIGTERM)
		},
		"squid killed": func(t *testing.T, entrypoint int) {
			_ = syscall.Kill(childNamed(t, entrypoint, "squid"), syscall.SIGKILL)
		},
	} {
		t.Run(name, func(t *testing.T) {
			top := newTopology(t)
			top.fakeWorld(t)
			w := newWorld(t, top, map[string][]netip.Addr{"registry.npmjs.org": {netip.MustParseAddr(upstreamIP)}})
			s := startSquid(t, top, squidOptions{spec: policy.Default(), upstreamCA: w.caPEM, nameservers: []string{upstreamIP}})
			const requests = 20
			for range requests {
				s.send(top, exchange{connect: npm, http: get("/semver", "Connection: close")})
			}
			s.awaitWritten(t, requests)
			end(t, s.cmd.Process.Pid)
			select {
			case <-s.ended:
			case <-time.After(10 * time.Second):
				t.Fatal("the container still runs after 10 s")
			}
			egress := s.egress(t)
			if egress.Admitted != requests || egress.Truncated {
				t.Errorf("the log shows %+v", egress)
			}
		})
	}
}

// awaitWritten waits until Squid has written that it admitted so many requests: it does
// so a moment after their answers.
func (s *squid) awaitWritten(t *testing.T, admitted int64) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(s.dir, "run/access.log"))
		if err != nil {
			t.Fatal(err)
		}
		egress, err := policy.ParseAccessLog(strings.NewReader(logStart+string(text)), 1<<20)
		if err == nil && egress.Admitted == admitted {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("Squid has written %+v (%v), want %d admitted", egress, err, admitted)
		}
	}
}

// childNamed returns the process id of a child by its command's name.
func childNamed(t *testing.T, parent int, name string) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent))
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range strings.Fields(string(text)) {
		comm, _ := os.ReadFile("/proc/" + field + "/comm")
		if pid, err := strconv.Atoi(field); err == nil && strings.TrimSpace(string(comm)) == name {
			return pid
		}
	}
	t.Fatalf("process %d has no child %s", parent, name)
	return 0
}
