//go:build proxy

package proxy

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/policy"
	"github.com/ai-dossier/zt-operator/internal/registries"
)

// locations that a registry could send a mirror to.
var locations = []string{
	"https://registry.npmjs.org/semver", "https://pypi.org/simple/pytest/", "https://files.pythonhosted.org" + wheelPath,
	"https://pypi.org", "https://pypi.org/", "https://pypi.org:443/simple/pytest/", "/simple/pytest/", "/", "/simple/py%74est/?a=b#c",
	"//evil.test/x", `/\evil.test/x`, `\\evil.test`, "simple/pytest/", "../x", "?x", "#x", "",
	"https://evil.test/x", "https://pypi.org@evil.test/x", "https://pypi.org:443@evil.test/x", "https://pypi.org.evil.test/x",
	"https://xpypi.org/x", "https://user@pypi.org/x", "https://user:secret@pypi.org/x", "https://pypi.org:8443/x", "https://pypi.org:/x",
	"https://PYPI.org/x", "HTTPS://pypi.org/x", "http://pypi.org/x", "http://pypi.org:443/x", "ftp://pypi.org/x", "https:pypi.org/x", "https:///pypi.org/x",
	"https://pypi.org/x, https://evil.test/", "https://pypi.org/x y", "https://pypi.org/\x01", "https://pypi.org/\xff", "https://pypi.org?x", "https://pypi.org#x",
	`https://pypi.org\@evil.test/`, "https://169.254.169.254/", "https://[::1]/", "https://10.0.0.5/", "javascript:alert(1)", "data:,x",
	strings.Repeat("/a", 2000), "https://pypi.org/" + strings.Repeat("a", 4000), " https://pypi.org/x",
}

func TestSquidAndTheEvaluatorAgreeWhereARedirectMayLead(t *testing.T) {
	top := newTopology(t)
	top.fakeWorld(t)
	spec, records := policy.Default(), map[string][]netip.Addr{}
	spec.MaxRedirects = 3
	for _, host := range spec.Hosts {
		records[host.Host] = []netip.Addr{netip.MustParseAddr(upstreamIP)}
	}
	w := newWorld(t, top, records)
	// The last number of a path is the location's, the one before it the status.
	w.registry = func(out http.ResponseWriter, in *http.Request) {
		var status, number int
		_, _ = fmt.Sscanf(in.URL.Path, "/to-%d-%d", &status, &number)
		if locations[number] != "" {
			out.Header()["Location"] = []string{locations[number]}
		}
		out.WriteHeader(status)
	}
	s := startSquid(t, top, squidOptions{spec: spec, upstreamCA: w.caPEM, nameservers: []string{upstreamIP}})
	t.Cleanup(func() { seenVerdicts.addLog(s) })
	evaluator, err := policy.NewEvaluator(spec, policy.SquidParams{MirrorIP: mirrorIP})
	if err != nil {
		t.Fatal(err)
	}
	admits := 0
	for i, location := range locations {
		for _, status := range []int{300, 301, 302, 303, 307, 308, 399} {
			// Leading blanks are no part of a header's value.
			want := evaluator.EvaluateReply(policy.Reply{Status: status, Location: strings.TrimSpace(location)})
			x := exchange{connect: npm, http: get(fmt.Sprintf("/to-%d-%d", status, i))}
			name := fmt.Sprintf("a redirect %d to %.60q", status, location)
			expected := denied(name, x, want.Rule)
			if want.Allowed {
				expected = admitted(name, x, "allow_npm")
				admits++
			}
			if reply := expected.check(t, top, s, "a fake registry, redirect budget 3"); want.Allowed && reply.status != status {
				t.Errorf("%s: the client saw %d, %v", name, reply.status, reply.err)
			}
		}
	}
	if denials := len(locations)*7 - admits; admits < 50 || denials < 150 {
		t.Errorf("%d admitted and %d denied redirects, which compares too little", admits, denials)
	}
	t.Logf("squid %s: %d admitted of %d redirects", s.version(), admits, len(locations)*7)
	t.Run("the audit admits where they led", func(t *testing.T) { s.cleanAudit(t, spec, 200) })
	t.Run("the audit finds those that the applied policy would not follow", func(t *testing.T) {
		applied, away := policy.Default(), 0
		applied.MaxRedirects = spec.MaxRedirects
		applied.Hosts = slices.DeleteFunc(applied.Hosts, func(h v1alpha1.PolicyHost) bool { return h.Host != registries.NPMHost })
		for _, location := range locations {
			if evaluator.EvaluateReply(policy.Reply{Status: 302, Location: strings.TrimSpace(location)}).Allowed && !strings.HasPrefix(strings.TrimSpace(location), "/") &&
				!strings.HasPrefix(location, "https://"+registries.NPMHost) {
				away++
			}
		}
		narrow, err := policy.NewEvaluator(applied, policy.SquidParams{MirrorIP: mirrorIP})
		if err != nil {
			t.Fatal(err)
		}
		audit, err := narrow.Audit(strings.NewReader(s.log()), 64<<20)
		if want := int64(away * 7); err != nil || audit.Violations != want || away < 5 {
			t.Fatalf("%+v, %v; want %d violations", audit, err, want)
		}
		if first := audit.Found[0]; first.Expected != policy.RuleRedirectOff || !strings.Contains(first.Request, " led to https://pypi.org") {
			t.Errorf("%+v", first)
		}
	})
}
