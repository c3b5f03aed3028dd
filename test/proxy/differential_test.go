//go:build proxy

package proxy

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/policy"
)

// The corpus is the same in every run; ZT_PROXY_CORPUS makes it larger.
const (
	corpusSize  = 6000
	corpusSeed  = 20260301
	leastAllows = 1000
	workers     = 8
)

// sample is one generated request: the bytes for Squid and the facts for the
// evaluator.
type sample struct {
	exchange
	// tunnel is what the evaluator judges first, if the request is in one.
	tunnel  *policy.Request
	request policy.Request
}

func (s sample) evaluate(e *policy.Evaluator) policy.Verdict {
	if s.tunnel != nil {
		if verdict := e.Evaluate(*s.tunnel); !verdict.Allowed {
			return verdict
		}
	}
	return e.Evaluate(s.request)
}

type generator struct {
	*rand.Rand
	records map[string][]netip.Addr
	// bodies is false for Squid 5, which itself refuses a GET with a body.
	bodies bool
}

func pick[T any](g *generator, items ...T) T { return items[g.IntN(len(items))] }

// sometimes is true once in n times.
func (g *generator) sometimes(n int) bool { return g.IntN(n) == 0 }

// next generates a request that is near the border: mostly admitted, then with one
// or a few things changed.
func (g *generator) next() sample {
	host := pick(g, "registry.npmjs.org", "pypi.org", "files.pythonhosted.org")
	r := policy.Request{
		Source: netip.MustParseAddr(mirrorIP), Method: pick(g, "GET", "GET", "HEAD"), Scheme: "https",
		Host: host, Port: 443, Path: g.path(host),
	}
	if g.sometimes(40) {
		r.Source = netip.MustParseAddr(strangerIP)
	}
	if g.sometimes(12) {
		r.Method = pick(g, "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "FROB")
	}
	if g.sometimes(10) {
		r.Host = g.host(r.Host)
	}
	if g.sometimes(20) {
		r.Port = pick(g, 80, 444, 8443, 22, 65535)
	}
	if g.sometimes(3) {
		r.Path = g.mutate(r.Path)
	}
	if g.sometimes(20) {
		r.ContentLength = pick(g, "0", "5", "10")
	} else if g.sometimes(20) {
		r.TransferEncoding = "chunked"
	}
	if !g.bodies && r.Method != "POST" && r.Method != "PUT" && r.ContentLength != "0" {
		r.ContentLength = ""
	}
	r.Addresses = g.records[strings.TrimSuffix(strings.ToLower(r.Host), ".")]
	if g.sometimes(3) {
		return g.inTunnel(r)
	}
	return g.bare(r)
}

// bare asks the proxy for an absolute URL.
func (g *generator) bare(r policy.Request) sample {
	if g.sometimes(15) {
		r.Scheme = "http"
		// Squid itself refuses other methods of ftp, before any rule.
		if (r.Method == "GET" || r.Method == "HEAD") && g.sometimes(2) {
			r.Scheme = "ftp"
		}
	}
	user := ""
	if r.Credentials = g.sometimes(20); r.Credentials {
		user = pick(g, "user:secret@", "user@")
	}
	return sample{exchange: exchange{
		from: r.Source.String(), http: encode(r, r.Scheme+"://"+user+authority(r)+r.Path),
	}, request: r}
}

// inTunnel asks inside a tunnel, in origin form or with an absolute URL.
func (g *generator) inTunnel(r policy.Request) sample {
	connect := r
	connect.Method, connect.Scheme, connect.Path, connect.ContentLength, connect.TransferEncoding = "CONNECT", "", "", "", ""
	if g.sometimes(8) {
		connect.Host = pick(g, "registry.npmjs.org", "shared-a.test", "shared-b.test", "evil.test")
		connect.Addresses = g.records[connect.Host]
	}
	connect.ServerName = strings.Trim(strings.ToLower(connect.Host), ".[]")
	if g.sometimes(12) {
		connect.ServerName = pick(g, "evil.test", "pypi.org", "registry.npmjs.org")
	}
	r.Tunnel = connect.Host
	target := r.Path
	if g.sometimes(3) {
		target = "https://" + authority(r) + r.Path
	}
	return sample{exchange: exchange{
		from: r.Source.String(), connect: authority(connect), sni: connect.ServerName, http: encode(r, target),
	}, tunnel: &connect, request: r}
}

func authority(r policy.Request) string {
	if r.Method != "CONNECT" && ((r.Port == 443 && r.Scheme == "https") || (r.Port == 80 && r.Scheme == "http")) {
		return r.Host
	}
	return r.Host + ":" + strconv.Itoa(r.Port)
}

func encode(r policy.Request, target string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.Method, target, authority(r))
	body := ""
	if r.ContentLength != "" {
		length, _ := strconv.Atoi(r.ContentLength)
		body = strings.Repeat("b", length)
		fmt.Fprintf(&b, "Content-Length: %s\r\n", r.ContentLength)
	}
	if r.TransferEncoding != "" {
		body = "0\r\n\r\n"
		fmt.Fprintf(&b, "Transfer-Encoding: %s\r\n", r.TransferEncoding)
	}
	return b.String() + "Connection: close\r\n\r\n" + body
}

func (g *generator) host(host string) string {
	return pick(g,
		strings.ToUpper(host), host+".", "x"+host, "x."+host, host+".evil.test", host[1:], "evil.test", "localhost",
		upstreamIP, "127.0.0.1", "169.254.169.254", "10.0.0.5", "[::1]", "[2001:db8::10]", "[::ffff:10.0.0.5]",
		"3325256714", "0x7f000001", "0x7f.1", "127.1", "0177.0.0.1", "1.2.3.4.", "a_b.test", "xn--e1afmkfd.test",
		"private.test", "mixed.test", "loopback.test", "metadata.test", "mapped.test", "nat64.test", "ula.test", "shared-a.test", "shared-b.test",
	)
}

func (g *generator) word() string {
	return pick(g, "a", "semver", "JSONStream", "left-pad", "lodash.merge", "x_y", "n0", "0", "a~b", "core-js", "UPPER.Case", "q-")
}

func (g *generator) path(host string) string {
	version := pick(g, "1.0.0", "0.0.1-beta.2", "10.20.30", "2.0.0+build.5", "7")
	switch host {
	case "pypi.org":
		return "/simple/" + pick(g, "pytest", "PyTest", "a", "zope.interface", "a_b-c", "x0") + "/"
	case "files.pythonhosted.org":
		digits := "0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"
		return "/packages/" + pick(g, "ab", "00", "f9") + "/" + pick(g, "cd", "12") + "/" + digits + "/" + g.word() + "-" + version +
			pick(g, "-py3-none-any.whl", ".tar.gz", ".zip") + pick(g, "", "", ".metadata")
	}
	scope := pick(g, "", "", "@types/", "@types%2f", "@types%2F", "@a.b-c/", "%40types/", "%40types%2f")
	name := g.word()
	if g.sometimes(2) {
		return "/" + scope + name
	}
	return "/" + strings.ReplaceAll(strings.ReplaceAll(scope, "%2f", "/"), "%2F", "/") + name + "/-/" + name + "-" + version + ".tgz"
}

// mutate changes a path by what attackers, and careless clients, do to paths.
func (g *generator) mutate(path string) string {
	insert := pick(g,
		"?", "?a=b", "%3f", "%3F", "#", "#a", "%23", "/", "//", "/../", "/%2e%2e/", "/./", "%2f", "%2F", "%252f", "%00", "%0a", "%0d%0a", "%09",
		"%", "%%", "%%32f", "%2", "%zz", "%u002f", "%c0%af", "%ff", "%e2%80%ae", "%7f", "%20", "+", ";", ";a=b", "\\", "%5c", "@", "%40", ":", "~", "!", "$", "&",
		"'", "(", ")", "*", ",", "=", "[", "]", "{", "}", "|", "^", "`", "\"", "<", ">", "-", "/-/", "/-/whoami", ".", "..", "_", ".tgz", ".whl", ".metadata", "A", "9",
		strings.Repeat("a", 3000), strings.Repeat("%61", 1000),
	)
	at := 1 + g.IntN(len(path))
	switch g.IntN(4) {
	case 0:
		return path + insert
	case 1:
		return path[:at] + insert + path[at:]
	case 2:
		return path[:at] // cut off
	default:
		// Not the first slash: in an absolute URL it ends the host.
		at = min(at, len(path)-1)
		return path[:at] + fmt.Sprintf("%%%02x", path[at]) + path[at+1:]
	}
}

func TestEvaluatorAndSquidAgree(t *testing.T) {
	top := newTopology(t)
	top.fakeWorld(t, "10.0.0.5/32", "169.254.169.254/32", "fd00::5/128")
	spec, records := tablePolicy()
	w := newWorld(t, top, records)
	s := startSquid(t, top, squidOptions{spec: spec, upstreamCA: w.caPEM, nameservers: []string{upstreamIP}})
	evaluator, err := policy.NewEvaluator(spec, policy.SquidParams{MirrorIP: mirrorIP})
	if err != nil {
		t.Fatal(err)
	}
	g := &generator{rand.New(rand.NewPCG(corpusSeed, 1)), records, !strings.HasPrefix(s.version(), "5.")}
	size := corpusSize
	if text := os.Getenv("ZT_PROXY_CORPUS"); text != "" {
		if size, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	samples := make([]sample, size)
	for i := range samples {
		samples[i] = g.next()
	}
	seen := compare(t, top, s, evaluator, samples)
	t.Logf("squid %s: %d requests, verdicts %v", s.version(), size, seen)
	if allows := seen["allow_npm"] + seen["allow_pypi"] + seen["allow_files"]; allows < min(leastAllows, size/6) {
		t.Errorf("only %d of them are allowed", allows)
	}
	s.cleanAudit(t, spec, 1000)
	for address := range w.arrivals {
		if address != upstreamIP {
			t.Errorf("%d connections to %s", w.arrivals[address], address)
		}
	}
}

// compare sends the samples through both and reports the first differences. It
// returns how often each rule decided.
func compare(t *testing.T, top *topology, s *squid, e *policy.Evaluator, samples []sample) map[string]int {
	t.Helper()
	var mu sync.Mutex
	seen, differences := map[string]int{}, 0
	queue := make(chan sample)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for sample := range queue {
				want := sample.evaluate(e)
				reply := s.send(top, sample.exchange)
				class, rule := s.verdict(reply.port)
				mu.Lock()
				seen[want.Rule]++
				if rule != want.Rule || (class == "admitted") != want.Allowed {
					if differences++; differences <= 40 {
						t.Errorf("squid: %s %s; evaluator: %s\n  connect=%s sni=%s from=%s %.300q%s", class, rule, want.Rule, sample.connect, sample.sni, sample.from, sample.http, describe(s.entries(reply.port)))
					}
				}
				mu.Unlock()
			}
		})
	}
	for _, sample := range samples {
		queue <- sample
	}
	close(queue)
	group.Wait()
	if differences > 0 {
		t.Errorf("%d differences", differences)
	}
	return seen
}
