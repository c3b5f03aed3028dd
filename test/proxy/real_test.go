//go:build proxy

package proxy

import (
	"os"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/policy"
	"github.com/ai-dossier/zt-operator/internal/registries"
)

// realRows are asked of the registries themselves, under the shipped policy.
var realRows = []row{
	admitted("a package document", exchange{connect: npm, http: get("/semver")}, "allow_npm"),
	admitted("a scoped package document", exchange{connect: npm, http: get("/@types%2fms")}, "allow_npm"),
	admitted("a tarball", exchange{connect: npm, http: get("/semver/-/semver-7.7.1.tgz")}, "allow_npm"),
	admitted("a project page of the simple index", exchange{connect: "pypi.org:443", http: at("pypi.org", "/simple/pytest/")}, "allow_pypi"),
	denied("another path of a registry", exchange{connect: npm, http: get("/-/whoami")}, policy.RulePath),
	denied("the JSON API of the index", exchange{connect: "pypi.org:443", http: at("pypi.org", "/pypi/pytest/json")}, policy.RulePath),
	denied("the root of the simple index", exchange{connect: "pypi.org:443", http: at("pypi.org", "/simple/")}, policy.RulePath),
	denied("a query", exchange{connect: npm, http: get("/semver?write=true")}, policy.RuleQuery),
	denied("a request with a body", exchange{connect: npm, http: request("POST", "/semver", "Content-Length: 3") + "abc"}, policy.RuleBody),
	denied("another method", exchange{connect: npm, http: request("DELETE", "/semver")}, policy.RuleMethod),
	denied("plain http", exchange{http: get("http://registry.npmjs.org/semver")}, policy.RulePort),
	denied("another host", exchange{connect: "example.com:443", http: at("example.com", "/")}, policy.RuleHost),
	denied("a server name of another host", exchange{connect: npm, sni: "example.com", http: get("/semver")}, policy.RuleSNI),
	denied("a Host header of another registry", exchange{connect: npm, http: at("pypi.org", "/simple/pytest/")}, policy.RuleHostMismatch),
	denied("an address", exchange{connect: "104.16.0.34:443", sni: "registry.npmjs.org", http: get("/semver")}, policy.RuleIPLiteral),
	denied("the metadata address", exchange{connect: "169.254.169.254:443", sni: "registry.npmjs.org", http: get("/semver")}, policy.RuleIPLiteral),
	denied("another client than the mirror", exchange{from: strangerIP, connect: npm, http: get("/semver")}, policy.RuleSource),
}

func TestTheRealRegistriesGiveOnlyWhatThePolicyAdmits(t *testing.T) {
	for _, host := range []string{registries.NPMHost, registries.PyPIHost} {
		reachable(t, host)
	}
	ca, err := os.ReadFile("/etc/ssl/certs/ca-certificates.crt")
	if err != nil {
		t.Fatal(err)
	}
	top := newTopology(t)
	top.realWorld(t)
	s := startSquid(t, top, squidOptions{spec: policy.Default(), upstreamCA: ca, nameservers: nameservers(t)})
	t.Cleanup(func() { seenVerdicts.addLog(s) })
	for _, row := range realRows {
		t.Run(row.name, func(t *testing.T) {
			reply := row.check(t, top, s, "the real registries")
			if row.reaches && reply.status != 200 {
				t.Errorf("the client saw %d, %v", reply.status, reply.err)
			}
		})
	}
	t.Run("a name that the index may redirect to its canonical one", func(t *testing.T) {
		x := exchange{connect: "pypi.org:443", http: at("pypi.org", "/simple/PyTest/")}
		// PyPI redirects it, a cache before PyPI may not: what the registry answered is
		// in the log.
		first := s.send(top, x)
		s.verdict(first.port)
		expected := admitted("a name that is not canonical, served", x, "allow_pypi")
		for _, line := range s.entries(first.port) {
			if strings.HasPrefix(line.Upstream, "3") {
				expected = denied("a name that is not canonical, redirected", x, policy.RuleRedirect)
			}
		}
		if reply := expected.check(t, top, s, "the real registries"); reply.status >= 300 && reply.status < 400 {
			t.Errorf("the client was redirected: %d", reply.status)
		}
	})
}
