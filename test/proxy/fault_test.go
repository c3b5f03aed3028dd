//go:build proxy

package proxy

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/policy"
)

// faultRow is what goes wrong on the way to a registry, and what a run calls it.
type faultRow struct {
	row
	reason v1alpha1.Detail
	// within is when the mirror knows.
	within time.Duration
}

func fault(name string, x exchange, rule string, reason v1alpha1.Detail, within time.Duration) faultRow {
	return faultRow{failed(name, x, rule), reason, within}
}

const (
	prompt = 3 * time.Second
	// patient is Squid's own patience, cut down by impatient.
	patient = 12 * time.Second
)

// impatient cuts Squid's patience with silent registries from minutes to seconds.
func impatient(config string) string {
	return strings.NewReplacer("read_timeout 120 seconds", "read_timeout 2 seconds", "connect_timeout 10 seconds", "connect_timeout 2 seconds").Replace(config)
}

var faultRows = []faultRow{
	fault("a registry that is down", exchange{connect: "down.test:443", http: at("down.test", "/x")}, policy.RuleUpstream, v1alpha1.DetailRegistryUnreachable, prompt),
	fault("a registry that refuses connections", exchange{connect: "closed.test:443", http: at("closed.test", "/x")}, policy.RuleUpstream, v1alpha1.DetailRegistryUnreachable, prompt),
	fault("a registry that never answers a connection", exchange{connect: "silent.test:443", http: at("silent.test", "/x")}, policy.RuleUpstream, v1alpha1.DetailRegistryUnreachable, patient),
	fault("a registry whose name no server resolves", exchange{connect: "mute.test:443", http: at("mute.test", "/x")}, policy.RuleUpstream, v1alpha1.DetailRegistryNameFailed, patient),
	fault("a registry without an address", exchange{connect: "nowhere.test:443", http: at("nowhere.test", "/x")}, policy.RuleUpstream, v1alpha1.DetailRegistryNameFailed, prompt),
	fault("a certificate of an unknown CA", exchange{connect: "untrusted.test:443", http: at("untrusted.test", "/x")}, policy.RuleUpstream, v1alpha1.DetailCertificateUntrusted, prompt),
	fault("a certificate that has expired", exchange{connect: "expired.test:443", http: at("expired.test", "/x")}, policy.RuleUpstream, v1alpha1.DetailCertificateUntrusted, prompt),
	fault("a registry that breaks the handshake off", exchange{connect: "plain.test:443", http: at("plain.test", "/x")}, policy.RuleUpstream, v1alpha1.DetailRegistryTLSFailed, prompt),
	fault("a reply that ends before it began", exchange{connect: npm, http: get("/reset-1")}, "allow_npm", v1alpha1.DetailRegistryReplyBroken, prompt).seen(),
	fault("a reply that ends amid its body", exchange{connect: npm, http: get("/chunkcut-1")}, "allow_npm", v1alpha1.DetailRegistryReplyBroken, prompt).seen(),
	fault("a registry that says nothing", exchange{connect: npm, http: get("/hang-1")}, "allow_npm", v1alpha1.DetailRegistryTimedOut, patient).seen(),
	fault("a registry that stops in the middle", exchange{connect: npm, http: get("/stall-1")}, "allow_npm", v1alpha1.DetailRegistryTimedOut, patient).seen(),
	fault("a registry out of order", exchange{connect: npm, http: get("/status-503")}, "allow_npm", v1alpha1.DetailRegistryError, prompt).seen(),
	fault("a registry that wants a pause", exchange{connect: npm, http: get("/status-429")}, "allow_npm", v1alpha1.DetailRegistryError, prompt).seen(),
}

func (f faultRow) seen() faultRow {
	f.row = f.seenByRegistry()
	return f
}

// faultyWorld has a host for each fault that is not one of a reply.
func faultyWorld(t *testing.T) (*topology, *world, v1alpha1.ProxyPolicySpec) {
	t.Helper()
	top := newTopology(t)
	top.fakeWorld(t)
	ip(t, top.squid, "route add unreachable 192.0.2.1/32")
	for _, dropped := range []struct{ address, how string }{{"198.51.100.77", "drop"}, {"198.51.100.78", "reject with tcp reset"}} {
		ip(t, top.upstream, "addr add "+dropped.address+"/24 dev eth0")
		run(t, "ip", "netns", "exec", top.upstream, "nft", "add table ip faults; add chain ip faults in { type filter hook input priority 0 ; } ; "+
			"add rule ip faults in ip daddr "+dropped.address+" meta l4proto tcp "+dropped.how)
	}
	address := map[string]string{
		"down": "192.0.2.1", "silent": "198.51.100.77", "closed": "198.51.100.78",
		"untrusted": upstreamIP, "expired": upstreamIP, "plain": upstreamIP, "mute": "", "nowhere": "",
	}
	spec, records := policy.Default(), map[string][]netip.Addr{}
	for _, host := range spec.Hosts {
		records[host.Host] = []netip.Addr{netip.MustParseAddr(upstreamIP)}
	}
	for name, text := range address {
		if text != "" {
			records[name+".test"] = []netip.Addr{netip.MustParseAddr(text)}
		}
		spec.Hosts = append(spec.Hosts, v1alpha1.PolicyHost{
			Name: name, Host: name + ".test", Ecosystems: []v1alpha1.Ecosystem{v1alpha1.EcosystemNPM}, Paths: []v1alpha1.PathPattern{"^/x$"},
		})
	}
	return top, newWorld(t, top, records), spec
}

func TestEveryFaultOfARegistryHasAReasonInBoundedTime(t *testing.T) {
	top, w, spec := faultyWorld(t)
	s := startSquid(t, top, squidOptions{spec: spec, upstreamCA: w.caPEM, nameservers: []string{upstreamIP}, edit: impatient})
	t.Cleanup(func() { seenVerdicts.addLog(s) })
	for _, row := range faultRows {
		t.Run(row.name, func(t *testing.T) {
			before, begun := w.seen(), time.Now()
			reply := row.check(t, top, s, "a fake registry with a fault")
			if took := time.Since(begun); took > row.within {
				t.Errorf("known after %s, want %s", took, row.within)
			}
			if reply.status == 200 && reply.err == nil {
				t.Errorf("the mirror saw a whole reply of %d bytes", reply.body)
			}
			if reached := w.seen() > before; reached != row.reaches {
				t.Errorf("the registry saw the request: %v, want %v", reached, row.reaches)
			}
			var log strings.Builder
			for _, line := range s.entries(reply.port) {
				log.WriteString(line.text + "\n")
			}
			if counts := failuresIn(t, log.String()); len(counts) != 1 || counts[row.reason] != 1 {
				t.Errorf("failures are %v, want one %s%s", counts, row.reason, describe(s.entries(reply.port)))
			}
		})
	}
	t.Run("the audit finds no violation in the log of all this", func(t *testing.T) { s.cleanAudit(t, spec, 8) })
}
