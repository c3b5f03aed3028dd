//go:build proxy

package proxy

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/internal/policy"
)

// A Squid that enforces another policy than the one that was applied, be it by a
// fault of its own or by somebody's hand, is found out from its log.
func TestTheAuditFindsASquidThatAdmitsMoreThanThePolicy(t *testing.T) {
	top := newTopology(t)
	top.fakeWorld(t)
	applied, wider, records := policy.Default(), policy.Default(), map[string][]netip.Addr{}
	for i, host := range wider.Hosts {
		records[host.Host] = []netip.Addr{netip.MustParseAddr(upstreamIP)}
		wider.Hosts[i].Paths = append(wider.Hosts[i].Paths, "^/-/whoami$")
	}
	w := newWorld(t, top, records)
	s := startSquid(t, top, squidOptions{spec: wider, upstreamCA: w.caPEM, nameservers: []string{upstreamIP}})
	for _, path := range []string{"/semver", "/-/whoami"} {
		if reply := s.send(top, exchange{connect: npm, http: get(path)}); reply.status != 200 {
			t.Fatalf("%s: %+v", path, reply)
		}
	}
	e, err := policy.NewEvaluator(applied, policy.SquidParams{MirrorIP: mirrorIP})
	if err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		audit, err := e.Audit(strings.NewReader(s.log()), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if audit.Judged < 4 && time.Since(begun) < 5*time.Second {
			continue
		}
		if audit.Violations != 1 || audit.Found[0].Expected != policy.RulePath || !strings.HasSuffix(audit.Found[0].Request, "/-/whoami") {
			t.Errorf("%+v, want the one request that the policy denies", audit)
		}
		return
	}
}
