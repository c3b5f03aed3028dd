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

// inward are answers of DNS that no request may follow, by the host that gets them. The
// table has more of them.
var inward = []struct {
	host, meaning string
	addresses     []string
}{
	{"cgnat", "a carrier's address", []string{"100.64.0.1"}},
	{"multicast", "a group", []string{"224.0.0.1"}},
	{"unspecified", "no address in particular", []string{"0.0.0.0"}},
	{"broadcast", "everybody", []string{"255.255.255.255"}},
	{"mappedloop", "an IPv4-mapped loopback address", []string{"::ffff:127.0.0.1"}},
	{"loopback6", "IPv6 loopback", []string{"::1"}},
	{"linklocal6", "link-local IPv6", []string{"fe80::5"}},
	{"sixtofour", "a 6to4 address", []string{"2002:a00:5::1"}},
	{"mixed6", "one public IPv4 and one private IPv6 address", []string{upstreamIP, "fd00::5"}},
	{"many", "a private address as the last of many", []string{upstreamIP, "198.51.100.11", "198.51.100.12", "198.51.100.13", "10.0.0.5"}},
}

// namesWorld has hosts of the given names; the records are the caller's to fill.
func namesWorld(t *testing.T, names ...string) (*topology, *world, v1alpha1.ProxyPolicySpec) {
	t.Helper()
	top := newTopology(t)
	top.fakeWorld(t, "10.0.0.5/32", "100.64.0.1/32", "fd00::5/128", "2002:a00:5::1/128")
	spec := policy.Default()
	for _, name := range names {
		spec.Hosts = append(spec.Hosts, v1alpha1.PolicyHost{
			Name: name, Host: name + ".test", Ecosystems: []v1alpha1.Ecosystem{v1alpha1.EcosystemNPM}, Paths: []v1alpha1.PathPattern{"^/x$"},
		})
	}
	return top, newWorld(t, top, map[string][]netip.Addr{}), spec
}

// wantNoArrival wants connections to the public address only.
func (w *world) wantNoArrival(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for address, n := range w.arrivals {
		if address != upstreamIP {
			t.Errorf("%d connections to %s", n, address)
		}
	}
}

func TestSquidFollowsNoNameInside(t *testing.T) {
	var names []string
	for _, answer := range inward {
		names = append(names, answer.host)
	}
	top, w, spec := namesWorld(t, names...)
	for _, answer := range inward {
		for _, text := range answer.addresses {
			w.records[answer.host+".test"] = append(w.records[answer.host+".test"], netip.MustParseAddr(text))
		}
	}
	s := startSquid(t, top, squidOptions{spec: spec, upstreamCA: w.caPEM, nameservers: []string{upstreamIP}})
	t.Cleanup(func() { seenVerdicts.addLog(s) })
	for _, answer := range inward {
		host := answer.host + ".test"
		for how, x := range map[string]exchange{"": {connect: host + ":443", http: at(host, "/x")}, ", without a tunnel": {http: "GET https://" + host + "/x HTTP/1.1\r\nHost: " + host + "\r\n\r\n"}} {
			row := denied("a name that resolves to "+answer.meaning+how, x, policy.RuleDestination)
			t.Run(row.name, func(t *testing.T) { row.check(t, top, s, "names that lead inside") })
		}
	}
	w.wantNoArrival(t)
	if w.seen() > 0 {
		t.Errorf("a registry saw %v", w.requests)
	}
}

// A name's owner answers the check with a public address and the connection with a
// private one. Squid keeps an answer for at least a minute, which is a second here.
func TestSquidFollowsNoNameThatIsRebound(t *testing.T) {
	top, w, spec := namesWorld(t, "rebind", "pinned")
	set := func(host, address string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.records[host] = []netip.Addr{netip.MustParseAddr(address)}
	}
	get := func(host string) exchange { return exchange{connect: host + ":443", http: at(host, "/x")} }
	start := func(t *testing.T, seconds string) *squid {
		s := startSquid(t, top, squidOptions{spec: spec, upstreamCA: w.caPEM, nameservers: []string{upstreamIP}, edit: func(config string) string {
			return config + "negative_dns_ttl " + seconds + " seconds\n"
		}})
		t.Cleanup(func() { seenVerdicts.addLog(s) })
		return s
	}
	const against = "a name that changes"

	t.Run("while the answer is kept", func(t *testing.T) {
		s := start(t, "60")
		set("pinned.test", upstreamIP)
		admitted("a name before it is rebound", get("pinned.test"), "allow_pinned").check(t, top, s, against)
		set("pinned.test", "10.0.0.5")
		time.Sleep(2 * time.Second) // its time to live was one second
		admitted("a name that was rebound, by the answer that was checked", get("pinned.test"), "allow_pinned").check(t, top, s, against)
	})
	t.Run("when it is asked for again", func(t *testing.T) {
		s := start(t, "1")
		set("rebind.test", upstreamIP)
		admitted("a name before it is rebound, once more", get("rebind.test"), "allow_rebind").check(t, top, s, against)
		set("rebind.test", "10.0.0.5")
		time.Sleep(3 * time.Second)
		denied("a name that was rebound to a private address", get("rebind.test"), policy.RuleDestination).check(t, top, s, against)
		set("rebind.test", upstreamIP)
		time.Sleep(3 * time.Second)
		admitted("a name that was rebound back", get("rebind.test"), "allow_rebind").check(t, top, s, against)
	})
	w.wantNoArrival(t)
	t.Run("whatever answers alternate", func(t *testing.T) {
		s := start(t, "1")
		w.mu.Lock()
		w.alternate = map[string][]netip.Addr{"rebind.test": {netip.MustParseAddr(upstreamIP), netip.MustParseAddr("10.0.0.5")}}
		w.mu.Unlock()
		seen := map[string]int{}
		for begun := time.Now(); time.Since(begun) < 6*time.Second; time.Sleep(50 * time.Millisecond) {
			reply := s.send(top, get("rebind.test"))
			_, rule := s.verdict(reply.port)
			seen[rule]++
		}
		if seen["allow_rebind"] == 0 || seen[policy.RuleDestination] == 0 || len(seen) != 2 {
			t.Errorf("rules are %v", seen)
		}
		// Between the check and the connection the answer may end its second. The
		// NetworkPolicy is what stops Squid then; here only the audit is left to tell.
		if w.arrived("10.0.0.5") == 0 {
			s.cleanAudit(t, spec, 10)
			return
		}
		time.Sleep(time.Second)
		e, err := policy.NewEvaluator(spec, policy.SquidParams{MirrorIP: mirrorIP})
		if err != nil {
			t.Fatal(err)
		}
		audit, err := e.Audit(strings.NewReader(s.log()), 16<<20)
		if err != nil || audit.Violations == 0 || audit.Found[0].Expected != policy.RuleDestination {
			t.Errorf("%+v, %v; want the connection to a private address", audit, err)
		}
	})
}

func (w *world) arrived(address string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.arrivals[address]
}
