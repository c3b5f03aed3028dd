package policy

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

var testMirror = netip.MustParseAddr("192.0.2.10")

func newTestEvaluator(t testing.TB, ecosystem v1alpha1.Ecosystem) *Evaluator {
	t.Helper()
	e, err := NewEvaluator(Default(), SquidParams{MirrorIP: testMirror.String(), Ecosystem: ecosystem})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// good is an admitted request inside a tunnel.
func good() Request {
	return Request{
		Source: testMirror, Method: "GET", Scheme: "https", Host: "registry.npmjs.org", Port: 443,
		Path: "/@types%2fnode", Tunnel: "registry.npmjs.org", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.80")},
	}
}

// goodConnect is the admitted tunnel it is asked in.
func goodConnect() Request {
	return Request{Source: testMirror, Method: "CONNECT", Host: "registry.npmjs.org", Port: 443, ServerName: "registry.npmjs.org"}
}

func TestEvaluate(t *testing.T) {
	to := func(addresses ...string) func(*Request) {
		return func(r *Request) {
			r.Addresses = nil
			for _, address := range addresses {
				r.Addresses = append(r.Addresses, netip.MustParseAddr(address))
			}
		}
	}
	host := func(name string) func(*Request) { return func(r *Request) { r.Host, r.Tunnel = name, name } }
	path := func(text string) func(*Request) { return func(r *Request) { r.Path = text } }
	for name, tc := range map[string]struct {
		change func(*Request)
		want   string
	}{
		"a package document":                      {func(*Request) {}, "allow_npm"},
		"a tarball":                               {path("/a/-/a-1.0.0.tgz"), "allow_npm"},
		"a HEAD request":                          {func(r *Request) { r.Method = "HEAD" }, "allow_npm"},
		"a host in capitals with the root's dot":  {host("Registry.NPMJS.org."), "allow_npm"},
		"an https URL without a tunnel":           {func(r *Request) { r.Tunnel = "" }, "allow_npm"},
		"another client":                          {func(r *Request) { r.Source = netip.MustParseAddr("192.0.2.11") }, RuleSource},
		"the mirror, mapped":                      {func(r *Request) { r.Source = netip.MustParseAddr("::ffff:192.0.2.10") }, "allow_npm"},
		"an IPv4 literal":                         {host("192.0.2.80"), RuleIPLiteral},
		"an IPv6 literal":                         {host("[::1]"), RuleIPLiteral},
		"a decimal literal":                       {host("3232235521"), RuleIPLiteral},
		"a hexadecimal literal in capitals":       {host("0X7F.1"), RuleIPLiteral},
		"another host":                            {host("evil.test"), RuleHost},
		"a host of another ecosystem":             {host("pypi.org"), RuleHost},
		"another host than the tunnel's":          {func(r *Request) { r.Host = "evil.test" }, RuleHostMismatch},
		"another port":                            {func(r *Request) { r.Port = 8443 }, RulePort},
		"plain http":                              {func(r *Request) { r.Scheme = "http" }, RuleScheme},
		"a chunked body":                          {func(r *Request) { r.TransferEncoding = "chunked" }, RuleChunked},
		"a body":                                  {func(r *Request) { r.ContentLength = "12" }, RuleBody},
		"an empty body":                           {func(r *Request) { r.ContentLength = "0" }, "allow_npm"},
		"a method that writes":                    {func(r *Request) { r.Method = "PUT" }, RuleMethod},
		"a method in small letters":               {func(r *Request) { r.Method = "get" }, RuleMethod},
		"a query":                                 {path("/a?b"), RuleQuery},
		"an encoded question mark":                {path("/a%3Fb"), RuleQuery},
		"credentials in the URL":                  {func(r *Request) { r.Credentials = true }, RuleCredentials},
		"a private address":                       {to("10.0.0.1"), RuleDestination},
		"one private address of two":              {to("192.0.2.1", "fd00::1"), RuleDestination},
		"the metadata address":                    {to("169.254.169.254"), RuleDestination},
		"a mapped private address":                {to("::ffff:10.0.0.1"), RuleDestination},
		"a NAT64 address":                         {to("64:ff9b::a00:1"), RuleDestination},
		"an IPv4-compatible address":              {to("::10.0.0.1"), RuleDestination},
		"another path":                            {path("/-/whoami"), RulePath},
		"a path encoded twice":                    {path("/@types%252fnode"), RulePath},
		"a path that climbs, encoded":             {path("/a/%2e%2e/b"), RulePath},
		"a path with a null byte":                 {path("/a%00"), RulePath},
		"a path with a line end at its end":       {path("/a%0a"), RulePath},
		"an empty path":                           {path(""), RulePath},
		"what comes first decides: host, method":  {func(r *Request) { r.Host, r.Tunnel, r.Method = "evil.test", "", "PUT" }, RuleHost},
		"what comes first decides: method, query": {func(r *Request) { r.Method, r.Path = "PUT", "/a?b" }, RuleMethod},
	} {
		t.Run(name, func(t *testing.T) {
			r := good()
			tc.change(&r)
			got := newTestEvaluator(t, v1alpha1.EcosystemNPM).Evaluate(r)
			if got.Rule != tc.want || got.Allowed != strings.HasPrefix(tc.want, allowPrefix) {
				t.Errorf("%+v, want %s", got, tc.want)
			}
		})
	}
}

func TestEvaluateConnect(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Request)
		want   string
	}{
		"a tunnel to a registry":              {func(*Request) {}, RuleConnect},
		"a client hello without a name":       {func(r *Request) { r.ServerName = "" }, RuleConnect},
		"a client hello for another host":     {func(r *Request) { r.ServerName = "evil.test" }, RuleSNI},
		"a client hello for another registry": {func(r *Request) { r.ServerName = "pypi.org" }, RuleSNI},
		"a tunnel to another host":            {func(r *Request) { r.Host, r.ServerName = "evil.test", "evil.test" }, RuleHost},
		"a tunnel to an address":              {func(r *Request) { r.Host = "127.0.0.1" }, RuleIPLiteral},
		"a tunnel to another port":            {func(r *Request) { r.Port = 80 }, RulePort},
		"a tunnel with a body":                {func(r *Request) { r.ContentLength = "1" }, RuleBody},
		"a tunnel to a private address":       {func(r *Request) { r.Addresses = []netip.Addr{netip.MustParseAddr("10.0.0.1")} }, RuleDestination},
		"a tunnel for another client":         {func(r *Request) { r.Source = netip.Addr{} }, RuleSource},
		"a tunnel inside a tunnel":            {func(r *Request) { r.Host, r.Tunnel = "evil.test", "registry.npmjs.org" }, RuleHostMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			r := goodConnect()
			tc.change(&r)
			got := newTestEvaluator(t, "").Evaluate(r)
			if got.Rule != tc.want || got.Allowed != (tc.want == RuleConnect) {
				t.Errorf("%+v, want %s", got, tc.want)
			}
		})
	}
}

func TestEvaluateReply(t *testing.T) {
	const registry = "https://registry.npmjs.org/a"
	for name, tc := range map[string]struct {
		reply Reply
		want  string
	}{
		"a package":                             {Reply{Status: 200, BodyBytes: MaxResponseMiB << 20}, ""},
		"no change":                             {Reply{Status: 304}, ""},
		"no package":                            {Reply{Status: 404}, ""},
		"a body over the limit":                 {Reply{Status: 200, BodyBytes: MaxResponseMiB<<20 + 1}, RuleTooLarge},
		"a redirect on the registry":            {Reply{Status: 301, Location: registry}, RuleRedirect},
		"a redirect off the registry":           {Reply{Status: 302, Location: "https://evil.test/a"}, RuleRedirectOff},
		"a redirect to an address":              {Reply{Status: 307, Location: "https://169.254.169.254/"}, RuleRedirectOff},
		"a redirect to plain http":              {Reply{Status: 308, Location: "http://registry.npmjs.org/a"}, RuleRedirectOff},
		"a redirect without a destination":      {Reply{Status: 300}, RuleRedirectOff},
		"a redirect with a body over the limit": {Reply{Status: 399, Location: registry, BodyBytes: 1 << 40}, RuleRedirect},
	} {
		t.Run(name, func(t *testing.T) {
			got := newTestEvaluator(t, v1alpha1.EcosystemNPM).EvaluateReply(tc.reply)
			if got.Rule != tc.want || got.Allowed != (tc.want == "") {
				t.Errorf("%+v, want %q", got, tc.want)
			}
		})
	}
}

func TestAPathIsDecodedOnceAsSquidDoes(t *testing.T) {
	for path, want := range map[string]string{
		"/a":         "/a",
		"/%41%4a":    "/AJ",
		"/%2f%2F":    "///",
		"/%252f":     "/%2f",
		"/%00":       "/%00",
		"/%":         "/%",
		"/%4":        "/%4",
		"/%4g":       "/%4g",
		"/%%41":      "/%41",
		"/%%%41":     "/%A",
		"/%ff":       "/\xff",
		"/a%0ab":     "/a\nb",
		"/%u002f%2f": "/%u002f/",
	} {
		if got := decodePath(path); got != want {
			t.Errorf("%q decodes to %q, want %q", path, got, want)
		}
	}
}

func FuzzEvaluate(f *testing.F) {
	f.Add("GET", "https", "registry.npmjs.org", 443, "/@a%2fb", "", "", "192.0.2.1")
	f.Add("PUT", "http", "0x7f.1", 80, "/%%3f?", "chunked", "1", "::ffff:10.0.0.1")
	f.Fuzz(func(t *testing.T, method, scheme, host string, port int, path, encoding, length, address string) {
		r := Request{
			Source: testMirror, Method: method, Scheme: scheme, Host: host, Port: port,
			Path: path, TransferEncoding: encoding, ContentLength: length,
		}
		if parsed, err := netip.ParseAddr(address); err == nil {
			r.Addresses = []netip.Addr{parsed}
		}
		got := newTestEvaluator(t, "").Evaluate(r)
		if got.Rule == "" {
			t.Fatalf("no rule decided %+v", r)
		}
		if !got.Allowed || method == "CONNECT" {
			return
		}
		// What the ceiling forbids, whatever the policy says.
		if (method != "GET" && method != "HEAD") || scheme != "https" || port != 443 || encoding != "" {
			t.Errorf("%s admits %+v", got.Rule, r)
		}
		if strings.ContainsAny(path, "?#\\ \t\r\n\x00") || strings.Contains(decodePath(path), "?") {
			t.Errorf("%s admits the path %q", got.Rule, path)
		}
		for _, a := range r.Addresses {
			if a = a.Unmap(); a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() {
				t.Errorf("%s admits %s", got.Rule, a)
			}
		}
	})
}
