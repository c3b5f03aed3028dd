//go:build proxy

package proxy

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/lockindex"
	"github.com/ai-dossier/zt-operator/internal/policy"
	"github.com/ai-dossier/zt-operator/internal/registries"
)

func tailOf(text string) string { return text[max(0, len(text)-4000):] }

// fetch asks a server in the mirror's namespace for a path.
func fetch(top *topology, address, path string) (status int, body string) {
	return ask(top, address, "GET "+path+" HTTP/1.0\r\nHost: "+address+"\r\n\r\n")
}

// ask sends a request and reads the answer to its end.
func ask(top *topology, address, request string) (status int, answer string) {
	conn, err := dial(top.mirror, mirrorIP, address)
	if err != nil {
		return 0, ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(clientTimeout))
	_, _ = io.WriteString(conn, request)
	text, _ := io.ReadAll(conn)
	_, _ = fmt.Sscanf(string(text), "HTTP/1.1 %d", &status)
	return status, string(text)
}

// realSquid starts Squid toward the real npm registry, or skips without a network.
func realSquid(t *testing.T, top *topology) *squid {
	t.Helper()
	return realSquidFor(t, top, v1alpha1.EcosystemNPM, registries.NPMHost)
}

func realSquidFor(t *testing.T, top *topology, ecosystem v1alpha1.Ecosystem, host string) *squid {
	t.Helper()
	reachable(t, host)
	ca, err := os.ReadFile("/etc/ssl/certs/ca-certificates.crt")
	if err != nil {
		t.Fatal(err)
	}
	top.realWorld(t)
	return startSquid(t, top, squidOptions{
		spec: policy.Default(), ecosystem: ecosystem, upstreamCA: ca, nameservers: nameservers(t),
	})
}

func nameservers(t *testing.T) (servers []string) {
	t.Helper()
	text, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "nameserver" {
			servers = append(servers, fields[1])
		}
	}
	return servers
}

func TestNpmInstallsFromTheRealRegistryThroughMirrorAndSquid(t *testing.T) {
	top := newTopology(t)
	s := realSquid(t, top)
	m := startNPMMirror(t, top, s, folder(t, 0o777))
	t.Logf("squid %s listened after %s, the mirror answered after %s", s.version(), s.started, m.ready)

	begun := time.Now()
	if status, _ := fetch(top, m.address, "/ms"); status != 200 {
		t.Fatal("the mirror served no package document")
	}
	t.Logf("first package document after %s", time.Since(begun))
	for _, round := range []string{"cold", "warm"} {
		begun := time.Now()
		w := provision(t, top, m, "worker-node-22", "testdata/project")
		t.Logf("npm ci, %s: %s", round, time.Since(begun))
		if out, err := w.run(t, "node", "-e", "require('express'), require('semver')"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}

	t.Run("the log shows only admitted requests", func(t *testing.T) {
		egress := s.egress(t)
		t.Logf("%+v", egress)
		if egress.Admitted < 70 || egress.Denied+egress.Failed+egress.Redirects != 0 || egress.Truncated {
			t.Errorf("egress is %+v", egress)
		}
		if len(egress.Hosts) != 1 || egress.Hosts[0].Host != registries.NPMHost {
			t.Errorf("hosts are %v", egress.Hosts)
		}
	})
	t.Run("the evaluator admits what Squid admitted", func(t *testing.T) {
		e, err := policy.NewEvaluator(policy.Default(), policy.SquidParams{MirrorIP: mirrorIP, Ecosystem: v1alpha1.EcosystemNPM})
		if err != nil {
			t.Fatal(err)
		}
		if audit, err := e.Audit(strings.NewReader(s.log()), 16<<20); err != nil || audit.Violations != 0 || audit.Judged < 70 {
			t.Errorf("%+v, %v", audit, err)
		}
	})
	t.Run("every file in the mirror's cache is one of the lockfile", func(t *testing.T) {
		findings := auditMirror(t, v1alpha1.EcosystemNPM, m.storage, "testdata/project")
		t.Logf("%v", findings)
		if len(findings) != 1 || findings[lockindex.Admitted] < 60 {
			t.Errorf("%v, want admitted files only", findings)
		}
	})
	t.Run("a host of another ecosystem is denied", func(t *testing.T) {
		reply := s.send(top, exchange{connect: "pypi.org:443", http: at("pypi.org", "/simple/pytest/")})
		if class, rule := s.verdict(reply.port); class != "denied" || rule != policy.RuleHost {
			t.Errorf("%s %s", class, rule)
		}
	})
	t.Run("the mirror admits no publishing, no users and no web interface", func(t *testing.T) {
		for _, request := range []string{
			"PUT /ms HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
			"PUT /-/user/org.couchdb.user:a HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 31\r\n\r\n" + `{"name":"a","password":"secret"}`[:31],
			"GET / HTTP/1.0\r\n\r\n",
			"GET /-/web/detail/ms HTTP/1.0\r\n\r\n",
		} {
			if status, body := ask(top, m.address, request); status < 400 {
				t.Errorf("%.30q answers %d: %.200s", request, status, body)
			}
		}
	})
}

func (s *squid) egress(t *testing.T) v1alpha1.EgressStatus {
	t.Helper()
	time.Sleep(500 * time.Millisecond) // the log is written as connections end
	return egressOf(t, strings.NewReader(s.log()))
}

func egressOf(t *testing.T, log io.Reader) v1alpha1.EgressStatus {
	t.Helper()
	egress, err := policy.ParseAccessLog(log, 16<<20)
	if err != nil {
		t.Fatal(err)
	}
	return egress
}
