//go:build proxy

package proxy

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/policy"
)

const npm = "registry.npmjs.org:443"

func get(path string, headers ...string) string { return request("GET", path, headers...) }

func request(method, path string, headers ...string) string {
	return method + " " + path + " HTTP/1.1\r\nHost: registry.npmjs.org\r\n" + strings.Join(append(headers, ""), "\r\n") + "\r\n"
}

func at(host, path string) string { return "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n" }

// row is one request and what must become of it.
type row struct {
	name string
	exchange
	class, rule string
	// rule5 is class and rule under Squid 5 where they differ.
	rule5 string
	// reaches is true if the registry may see the request.
	reaches bool
}

func admitted(name string, x exchange, rule string) row {
	return row{name: name, exchange: x, class: "admitted", rule: rule, reaches: true}
}

func denied(name string, x exchange, rule string) row {
	return row{name: name, exchange: x, class: "denied", rule: rule}
}

func failed(name string, x exchange, rule string) row {
	return row{name: name, exchange: x, class: "failed", rule: rule}
}

func (r row) seenByRegistry() row {
	r.reaches = true
	return r
}

func (r row) orUnder5(verdict string) row {
	r.rule5 = verdict
	return r
}

const (
	mib       = 1 << 20
	wheelPath = "/packages/ab/cd/0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab/pytest-8.0.0-py3-none-any.whl"
)

// rows is the policy table of the design, then what attackers try.
var rows = []row{
	admitted("a package document", exchange{connect: npm, http: get("/semver")}, "allow_npm"),
	admitted("a scoped document with an encoded slash", exchange{connect: npm, http: get("/@types%2fnode")}, "allow_npm"),
	admitted("a scoped document with a plain slash", exchange{connect: npm, http: get("/@types/node")}, "allow_npm"),
	admitted("a tarball", exchange{connect: npm, http: get("/semver/-/semver-7.6.3.tgz")}, "allow_npm"),
	admitted("a HEAD request", exchange{connect: npm, http: request("HEAD", "/semver")}, "allow_npm"),
	admitted("a conditional request answered 304", exchange{connect: npm, http: get("/etag", `If-None-Match: "x"`)}, "allow_npm"),
	admitted("a project page of the simple index", exchange{connect: "pypi.org:443", http: at("pypi.org", "/simple/pytest/")}, "allow_pypi"),
	admitted("a wheel", exchange{connect: "files.pythonhosted.org:443", http: at("files.pythonhosted.org", wheelPath)}, "allow_files"),
	admitted("a wheel's metadata", exchange{connect: "files.pythonhosted.org:443", http: at("files.pythonhosted.org", wheelPath+".metadata")}, "allow_files"),
	admitted("a request with credentials in headers, which are stripped", exchange{connect: npm, http: get("/semver", "Authorization: Bearer secret", "Cookie: secret", "X-Secret: secret", "Proxy-Authorization: Basic c2VjcmV0")}, "allow_npm"),
	admitted("a host in capitals", exchange{connect: "REGISTRY.NPMJS.ORG:443", sni: "registry.npmjs.org", http: get("/semver")}, "allow_npm"),
	admitted("a host with the dot of the root", exchange{connect: "registry.npmjs.org.:443", sni: "registry.npmjs.org", http: get("/semver")}, "allow_npm"),
	admitted("an absolute URL in the tunnel", exchange{connect: npm, http: get("https://registry.npmjs.org/semver")}, "allow_npm"),
	admitted("an https URL without a tunnel", exchange{http: get("https://registry.npmjs.org/semver")}, "allow_npm"),
	admitted("an HTTP/1.0 client without a Host header", exchange{connect: npm, http: "GET /semver HTTP/1.0\r\n\r\n"}, "allow_npm"),
	admitted("a body as large as the limit", exchange{connect: npm, http: get("/size-268435456")}, "allow_npm"),

	denied("another path of a registry", exchange{connect: npm, http: get("/-/whoami")}, policy.RulePath),
	denied("the registry's root", exchange{connect: npm, http: get("/")}, policy.RulePath),
	denied("the JSON API of the index", exchange{connect: "pypi.org:443", http: at("pypi.org", "/pypi/pytest/json")}, policy.RulePath),
	denied("the root of the simple index", exchange{connect: "pypi.org:443", http: at("pypi.org", "/simple/")}, policy.RulePath),
	denied("a path that climbs", exchange{connect: npm, http: get("/a/../-/whoami")}, policy.RulePath),
	denied("a path that climbs, encoded", exchange{connect: npm, http: get("/a/%2e%2e/-/whoami")}, policy.RulePath),
	denied("a path encoded twice", exchange{connect: npm, http: get("/@types%252fnode")}, policy.RulePath),
	denied("a path with a null byte", exchange{connect: npm, http: get("/semver%00")}, policy.RulePath),
	denied("a path with a line end", exchange{connect: npm, http: get("/semver%0d%0aX:y")}, policy.RulePath),
	denied("a path with two slashes", exchange{connect: npm, http: get("//semver")}, policy.RulePath),
	denied("a fragment", exchange{connect: npm, http: get("/semver#x")}, policy.RulePath),
	denied("the cache manager inside the tunnel", exchange{connect: npm, http: get("/squid-internal-mgr/info")}, policy.RulePath),
	denied("a query", exchange{connect: npm, http: get("/semver?write=true")}, policy.RuleQuery),
	denied("an empty query", exchange{connect: npm, http: get("/semver?")}, policy.RuleQuery),
	denied("an encoded question mark", exchange{connect: npm, http: get("/semver%3fx")}, policy.RuleQuery),
	denied("credentials in the URL", exchange{connect: npm, http: get("https://user:secret@registry.npmjs.org/semver")}, policy.RuleCredentials),

	denied("a POST with a body", exchange{connect: npm, http: request("POST", "/semver", "Content-Length: 3") + "abc"}, policy.RuleBody),
	denied("a GET with a body", exchange{connect: npm, http: get("/semver", "Content-Length: 3") + "abc"}, policy.RuleBody).orUnder5("denied malformed_request"),
	denied("a chunked body", exchange{connect: npm, http: get("/semver", "Transfer-Encoding: chunked") + "0\r\n\r\n"}, policy.RuleChunked),
	denied("smuggling with two lengths of a body", exchange{connect: npm, http: get("/semver", "Content-Length: 3", "Transfer-Encoding: chunked") + "0\r\n\r\nGET /-/whoami HTTP/1.1\r\n\r\n"}, policy.RuleChunked),
	denied("smuggling with a space before the colon", exchange{connect: npm, http: get("/semver", "Content-Length : 3") + "abc"}, policy.RuleMalformed),
	admitted("a length hidden in a folded header, which is unfolded and stripped", exchange{connect: npm, http: get("/semver", "X: a", " Content-Length: 3") + "abc"}, "allow_npm"),
	denied("a POST without a body", exchange{connect: npm, http: request("POST", "/semver", "Content-Length: 0")}, policy.RuleMethod),
	denied("PUT", exchange{connect: npm, http: request("PUT", "/semver", "Content-Length: 0")}, policy.RuleMethod),
	denied("DELETE", exchange{connect: npm, http: request("DELETE", "/semver")}, policy.RuleMethod),
	denied("TRACE", exchange{connect: npm, http: request("TRACE", "/semver")}, policy.RuleMethod),
	denied("an unknown method", exchange{connect: npm, http: request("FROB", "/semver")}, policy.RuleMethod),
	denied("a CONNECT inside the tunnel", exchange{connect: npm, http: "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test\r\n\r\n"}, policy.RuleHostMismatch),

	denied("plain http", exchange{http: get("http://registry.npmjs.org/semver")}, policy.RulePort),
	denied("plain http on port 443", exchange{http: get("http://registry.npmjs.org:443/semver")}, policy.RuleScheme),
	denied("ftp", exchange{http: get("ftp://registry.npmjs.org/semver")}, policy.RulePort),
	denied("another port", exchange{connect: "registry.npmjs.org:8443", http: get("/semver")}, policy.RulePort),
	denied("port 80 by CONNECT", exchange{connect: "registry.npmjs.org:80", http: get("/semver")}, policy.RulePort),
	denied("another port in the tunnel's Host header", exchange{connect: npm, http: at("registry.npmjs.org:8443", "/semver")}, policy.RulePort),

	denied("another host", exchange{connect: "evil.test:443", http: at("evil.test", "/semver")}, policy.RuleHost),
	denied("a host that ends like a registry", exchange{connect: "xregistry.npmjs.org:443", http: get("/semver")}, policy.RuleHost),
	denied("a host below a registry", exchange{connect: "x.registry.npmjs.org:443", http: get("/semver")}, policy.RuleHost),
	denied("the cache manager", exchange{http: "GET cache_object://localhost/info HTTP/1.1\r\n\r\n"}, policy.RuleHost),
	denied("the cache manager's own URL", exchange{http: "GET /squid-internal-mgr/info HTTP/1.1\r\nHost: proxy:3128\r\n\r\n"}, policy.RuleHost),
	denied("an IPv4 literal", exchange{connect: upstreamIP + ":443", sni: "registry.npmjs.org", http: get("/semver")}, policy.RuleIPLiteral),
	denied("an IPv6 literal", exchange{connect: "[2001:db8::10]:443", sni: "registry.npmjs.org", http: get("/semver")}, policy.RuleIPLiteral),
	denied("a decimal address", exchange{connect: "3325256714:443", sni: "registry.npmjs.org", http: get("/semver")}, policy.RuleIPLiteral),
	denied("a hexadecimal address", exchange{connect: "0xc633640a:443", sni: "registry.npmjs.org", http: get("/semver")}, policy.RuleIPLiteral),
	denied("an octal address", exchange{connect: "0306.063.0144.012:443", sni: "registry.npmjs.org", http: get("/semver")}, policy.RuleIPLiteral),
	denied("a short address", exchange{connect: "127.1:443", sni: "registry.npmjs.org", http: get("/semver")}, policy.RuleIPLiteral),
	denied("the metadata address", exchange{connect: "169.254.169.254:443", sni: "registry.npmjs.org", http: get("/semver")}, policy.RuleIPLiteral),

	denied("another client than the mirror", exchange{from: strangerIP, connect: npm, http: get("/semver")}, policy.RuleSource),
	denied("a name that resolves to a private address", exchange{connect: "private.test:443", http: at("private.test", "/x")}, policy.RuleDestination),
	denied("a name with one public and one private address", exchange{connect: "mixed.test:443", http: at("mixed.test", "/x")}, policy.RuleDestination),
	denied("a name that resolves to loopback", exchange{connect: "loopback.test:443", http: at("loopback.test", "/x")}, policy.RuleDestination),
	denied("a name that resolves to the metadata address", exchange{connect: "metadata.test:443", http: at("metadata.test", "/x")}, policy.RuleDestination),
	denied("a name with an IPv4-mapped private address", exchange{connect: "mapped.test:443", http: at("mapped.test", "/x")}, policy.RuleDestination),
	denied("a name with a NAT64 address", exchange{connect: "nat64.test:443", http: at("nat64.test", "/x")}, policy.RuleDestination),
	denied("a name that resolves to unique local IPv6", exchange{connect: "ula.test:443", http: at("ula.test", "/x")}, policy.RuleDestination),

	denied("a server name of another host", exchange{connect: npm, sni: "evil.test", http: get("/semver")}, policy.RuleSNI),
	denied("a server name of another registry", exchange{connect: npm, sni: "pypi.org", http: get("/semver")}, policy.RuleSNI),
	denied("a Host header of another host", exchange{connect: npm, http: at("evil.test", "/semver")}, policy.RuleHostMismatch),
	denied("a Host header of another registry", exchange{connect: npm, http: at("pypi.org", "/simple/pytest/")}, policy.RuleHostMismatch),
	denied("an absolute URL of another registry", exchange{connect: npm, http: "GET https://pypi.org/simple/pytest/ HTTP/1.1\r\nHost: pypi.org\r\n\r\n"}, policy.RuleHostMismatch),
	denied("a Host header of a registry with the same certificate", exchange{connect: "shared-a.test:443", http: at("shared-b.test", "/x")}, policy.RuleHostMismatch),
	denied("a server name of a registry with the same certificate", exchange{connect: "shared-a.test:443", sni: "shared-b.test", http: at("shared-a.test", "/x")}, policy.RuleSNI),

	denied("plain HTTP inside the tunnel", exchange{connect: npm, rawTLS: get("/semver")}, policy.RuleMalformed),
	denied("another protocol inside the tunnel", exchange{connect: npm, rawTLS: "SSH-2.0-x\r\n"}, policy.RuleMalformed),
	denied("an HTTP/2 preface", exchange{connect: npm, http: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}, policy.RuleMalformed),
	denied("an HTTP/2 request line", exchange{connect: npm, http: "GET /semver HTTP/2.0\r\n\r\n"}, policy.RuleMalformed),
	denied("an HTTP/0.9 request", exchange{connect: npm, http: "GET /semver\r\n\r\n"}, policy.RuleMalformed).orUnder5("admitted allow_npm"),
	denied("a space in the URL", exchange{connect: npm, http: get("/sem ver")}, policy.RuleMalformed),
	denied("a tab in the URL", exchange{connect: npm, http: get("/sem\tver")}, policy.RuleMalformed),
	denied("control bytes and a forged entry in the URL", exchange{connect: npm, http: get("/a\x01\xff\",\"rule\":\"allow_npm")}, policy.RuleMalformed),
	denied("a URL of 20,000 bytes", exchange{connect: npm, http: get("/" + strings.Repeat("a", 20000))}, policy.RuleMalformed),
	denied("no request at all", exchange{connect: npm, http: "garbage\r\n\r\n"}, policy.RuleMalformed),

	denied("a redirect off the registry", exchange{connect: npm, http: get("/redirect-302")}, policy.RuleRedirect).seenByRegistry(),
	denied("a permanent redirect", exchange{connect: npm, http: get("/redirect-301")}, policy.RuleRedirect).seenByRegistry(),
	denied("a redirect that keeps the method", exchange{connect: npm, http: get("/redirect-307")}, policy.RuleRedirect).seenByRegistry(),
	denied("several choices", exchange{connect: npm, http: get("/redirect-300")}, policy.RuleRedirect).seenByRegistry(),
	denied("a body over the limit", exchange{connect: npm, http: get("/size-268435457")}, policy.RuleTooLarge).seenByRegistry(),
	denied("a chunked body over the limit", exchange{connect: npm, http: get("/chunked-300000000")}, policy.RuleTooLarge).seenByRegistry(),

	failed("a registry that cuts its reply off", exchange{connect: npm, http: get("/cut-1")}, "allow_npm").seenByRegistry(),
	failed("a registry whose certificate is not trusted", exchange{connect: "untrusted.test:443", http: at("untrusted.test", "/x")}, policy.RuleUpstream),
	failed("a registry without an address", exchange{connect: "nowhere.test:443", http: at("nowhere.test", "/x")}, policy.RuleUpstream),
}

// tablePolicy is the default policy with hosts that resolve strangely.
func tablePolicy() (v1alpha1.ProxyPolicySpec, map[string][]netip.Addr) {
	address := func(texts ...string) (list []netip.Addr) {
		for _, text := range texts {
			list = append(list, netip.MustParseAddr(text))
		}
		return list
	}
	spec, records := policy.Default(), map[string][]netip.Addr{}
	for _, host := range spec.Hosts {
		records[host.Host] = address(upstreamIP)
	}
	for name, addresses := range map[string][]netip.Addr{
		"private": address("10.0.0.5"), "mixed": address(upstreamIP, "10.0.0.5"), "loopback": address("127.0.0.1"),
		"metadata": address("169.254.169.254"), "mapped": address("::ffff:10.0.0.5"), "nat64": address("64:ff9b::a00:5"),
		"ula": address("fd00::5"), "untrusted": address(upstreamIP), "nowhere": nil,
		"shared-a": address(upstreamIP), "shared-b": address(upstreamIP),
	} {
		if addresses != nil {
			records[name+".test"] = addresses
		}
		spec.Hosts = append(spec.Hosts, v1alpha1.PolicyHost{
			Name: strings.ReplaceAll(name, "-", "_"), Host: name + ".test",
			Ecosystems: []v1alpha1.Ecosystem{v1alpha1.EcosystemNPM}, Paths: []v1alpha1.PathPattern{"^/x$"},
		})
	}
	return spec, records
}

func TestSquidEnforcesTheTable(t *testing.T) {
	top := newTopology(t)
	top.fakeWorld(t, "10.0.0.5/32", "169.254.169.254/32", "fd00::5/128")
	spec, records := tablePolicy()
	w := newWorld(t, top, records)
	s := startSquid(t, top, squidOptions{spec: spec, upstreamCA: w.caPEM, nameservers: []string{upstreamIP}})
	under5 := strings.HasPrefix(s.version(), "5.")
	t.Logf("squid %s listened after %s", s.version(), s.started)
	t.Cleanup(func() { seenVerdicts.addLog(s) })
	for _, row := range slices.Concat(rows, hostileRows) {
		t.Run(row.name, func(t *testing.T) {
			before := w.seen()
			row.check(t, top, s, "a fake registry")
			reaches := row.reaches
			if under5 && row.rule5 != "" {
				reaches = strings.HasPrefix(row.rule5, "admitted")
			}
			if reached := w.seen() > before; reached != reaches {
				t.Errorf("the registry saw the request: %v, want %v", reached, reaches)
			}
		})
	}
	t.Run("the audit finds no violation in the log of all this", func(t *testing.T) { s.cleanAudit(t, spec, 10) })
	t.Run("nothing reached a forbidden address", func(t *testing.T) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for address := range w.arrivals {
			if address != upstreamIP {
				t.Errorf("%d connections to %s", w.arrivals[address], address)
			}
		}
	})
	t.Run("every request reached a registry under its own name", func(t *testing.T) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, request := range w.requests {
			if host := strings.Fields(request)[1]; len(records[host]) == 0 {
				t.Errorf("%s", request)
			}
		}
	})
	t.Run("no secret header reached a registry", func(t *testing.T) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, header := range w.headers {
			for name, values := range header {
				if strings.Contains(strings.Join(values, " "), "secret") || name == "Authorization" || name == "Via" || name == "X-Forwarded-For" {
					t.Errorf("%s: %s", name, values)
				}
			}
		}
	})
	t.Run("no denied name was looked up", func(t *testing.T) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for name := range w.asked {
			if _, known := records[name]; !known && name != "nowhere.test" && !strings.HasSuffix(name, ".in-addr.arpa") {
				t.Errorf("%s was looked up", name)
			}
		}
	})
}
