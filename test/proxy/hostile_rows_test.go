//go:build proxy

package proxy

import (
	"strings"

	"github.com/ai-dossier/zt-operator/internal/policy"
)

// whoami is a second request that a first one carries along.
const whoami = "GET /-/whoami HTTP/1.1\r\nHost: registry.npmjs.org\r\n\r\n"

// hostileRows are what a mirror would send that somebody took over: requests that two
// parsers read differently, headers that lead elsewhere, URLs of Squid itself.
var hostileRows = []row{
	// Where a request ends.
	denied("two lengths of a body that differ", exchange{connect: npm, http: get("/semver", "Content-Length: 0", "Content-Length: 50") + whoami}, policy.RuleMalformed),
	denied("a list of lengths", exchange{connect: npm, http: get("/semver", "Content-Length: 0, 50") + whoami}, policy.RuleMalformed),
	denied("a length with a sign", exchange{connect: npm, http: get("/semver", "Content-Length: +50") + whoami}, policy.RuleMalformed),
	denied("a length below zero", exchange{connect: npm, http: get("/semver", "Content-Length: -1") + whoami}, policy.RuleMalformed),
	denied("a hexadecimal length", exchange{connect: npm, http: get("/semver", "Content-Length: 0x32") + whoami}, policy.RuleMalformed),
	denied("a length after a form feed", exchange{connect: npm, http: get("/semver", "Content-Length: \f50") + whoami}, policy.RuleBody),
	denied("an encoding of an unknown name", exchange{connect: npm, http: get("/semver", "Transfer-Encoding: xchunked") + whoami}, policy.RuleMalformed),
	denied("an encoding that is none", exchange{connect: npm, http: get("/semver", "Transfer-Encoding: identity") + whoami}, policy.RuleMalformed),
	denied("an encoding twice", exchange{connect: npm, http: get("/semver", "Transfer-Encoding: chunked", "Transfer-Encoding: identity") + "0\r\n\r\n" + whoami}, policy.RuleMalformed),
	denied("an encoding after a tab", exchange{connect: npm, http: get("/semver", "Transfer-Encoding:\tchunked") + "0\r\n\r\n" + whoami}, policy.RuleChunked),
	denied("an encoding after a vertical tab", exchange{connect: npm, http: get("/semver", "Transfer-Encoding: \vchunked") + "0\r\n\r\n" + whoami}, policy.RuleChunked),
	denied("an encoding in a folded header of its own", exchange{connect: npm, http: get("/semver", "Transfer-Encoding:", " chunked") + "0\r\n\r\n" + whoami}, policy.RuleChunked),
	denied("a space before an encoding's colon", exchange{connect: npm, http: get("/semver", "Transfer-Encoding : chunked") + "0\r\n\r\n" + whoami}, policy.RuleMalformed),
	both("a second request behind the first", exchange{connect: npm, http: get("/semver") + strings.Replace(whoami, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1)}),

	// What a header is.
	both("a carriage return in a header that is stripped, and what is behind it", exchange{connect: npm, http: get("/semver", "X: a\rTransfer-Encoding: chunked") + "0\r\n\r\n"}),
	denied("a null byte in a header", exchange{connect: npm, http: get("/semver", "X: a\x00b")}, policy.RuleMalformed),
	denied("a header without a colon", exchange{connect: npm, http: get("/semver", "Transfer-Encoding chunked")}, policy.RuleMalformed),
	admitted("a first header that is folded, and stripped", exchange{connect: npm, http: "GET /semver HTTP/1.1\r\n X: a\r\nHost: registry.npmjs.org\r\n\r\n"}, "allow_npm"),
	denied("headers that never end", exchange{connect: npm, http: get("/semver", "X: "+strings.Repeat("a", 20000))}, policy.RuleMalformed),
	admitted("lines that end without a carriage return", exchange{connect: npm, http: "GET /semver HTTP/1.1\nHost: registry.npmjs.org\n\n"}, "allow_npm"),
	admitted("headers that would lead elsewhere, which are stripped", exchange{connect: npm, http: get("/semver",
		"X-Forwarded-Host: secret.test", "X-Forwarded-For: secret", "Forwarded: for=secret", "X-Original-URL: /-/secret", "X-Rewrite-URL: /-/secret",
		"X-HTTP-Method-Override: secret", "Referer: https://secret.test/", "Origin: https://secret.test", "TE: trailers, secret", "Trailer: secret", "Proxy-Connection: secret")}, "allow_npm"),
	admitted("headers that are to be dropped on the way, the host among them", exchange{connect: npm, http: get("/semver", "Connection: Host, Accept-Encoding, close")}, "allow_npm"),

	// Whose host it is. The registry sees the host of the URL that was judged, whatever
	// the Host header said.
	admitted("two hosts, of which the first counts", exchange{connect: npm, http: get("/semver", "Host: evil.test")}, "allow_npm"),
	denied("two hosts, the other one first", exchange{connect: npm, http: "GET /semver HTTP/1.1\r\nHost: evil.test\r\nHost: registry.npmjs.org\r\n\r\n"}, policy.RuleHostMismatch),
	admitted("the same host twice", exchange{connect: npm, http: get("/semver", "Host: registry.npmjs.org")}, "allow_npm"),
	admitted("a host that looks like a user name, which is replaced", exchange{connect: npm, http: at("registry.npmjs.org@evil.test", "/semver")}, "allow_npm"),
	admitted("a host behind a user name, which is replaced", exchange{connect: npm, http: at("evil.test@registry.npmjs.org", "/semver")}, "allow_npm"),
	denied("a host with a second port", exchange{connect: npm, http: at("registry.npmjs.org:443:80", "/semver")}, policy.RuleHostMismatch),
	admitted("a host with a path, which is replaced", exchange{connect: npm, http: at("registry.npmjs.org/-/whoami?", "/semver")}, "allow_npm"),
	admitted("an absolute URL and a Host header of another host, which is replaced", exchange{connect: npm, http: "GET https://registry.npmjs.org/semver HTTP/1.1\r\nHost: evil.test\r\n\r\n"}, "allow_npm"),
	denied("an absolute URL of another host and the right Host header", exchange{connect: npm, http: get("https://evil.test/semver")}, policy.RuleHostMismatch),
	denied("an HTTP/1.0 client with a Host header of another host", exchange{connect: npm, http: "GET /semver HTTP/1.0\r\nHost: evil.test\r\n\r\n"}, policy.RuleHostMismatch),
	admitted("a CONNECT with a Host header of another host", exchange{connect: npm, connectHost: "evil.test:443", http: get("/semver")}, "allow_npm"),
	denied("a CONNECT to another host with the right Host header", exchange{connect: "evil.test:443", connectHost: npm, sni: "registry.npmjs.org", http: get("/semver")}, policy.RuleHost),

	// Other versions of HTTP.
	admitted("an HTTP/1.0 client that keeps the connection", exchange{connect: npm, http: "GET /semver HTTP/1.0\r\nHost: registry.npmjs.org\r\nConnection: keep-alive\r\n\r\n"}, "allow_npm"),
	admitted("a client that offers HTTP/2 in its hello", exchange{connect: npm, alpn: []string{"h2", "http/1.1"}, http: get("/semver")}, "allow_npm"),
	admitted("a client that asks for an upgrade to HTTP/2", exchange{connect: npm, http: get("/semver", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")}, "allow_npm"),
	admitted("a client that asks for a web socket", exchange{connect: npm, http: get("/semver", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: secret")}, "allow_npm"),
	denied("a client that asks without a tunnel for an upgrade to HTTP/2", exchange{http: get("http://registry.npmjs.org/semver", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")}, policy.RulePort),

	// Squid's own.
	denied("the cache manager by Squid's own name", exchange{http: get("http://proxy:3128/squid-internal-mgr/menu")}, policy.RuleHost),
	denied("the cache manager by Squid's address", exchange{http: get("http://" + squidIP + ":3128/squid-internal-mgr/info")}, policy.RuleIPLiteral),
	denied("the cache manager by a tunnel to Squid", exchange{connect: "proxy:3128", http: get("/squid-internal-mgr/info")}, policy.RuleHost),
	denied("the cache manager under a registry's name", exchange{http: get("https://registry.npmjs.org/squid-internal-mgr/info")}, policy.RulePath),
	denied("Squid's icons", exchange{http: "GET /squid-internal-static/icons/SN.png HTTP/1.1\r\nHost: proxy:3128\r\n\r\n"}, policy.RuleHost),
	denied("Squid's icons under a registry's name, which Squid takes for its own", exchange{connect: npm, http: get("/squid-internal-static/icons/SN.png")}, policy.RuleHostMismatch),
	denied("Squid's cache digest", exchange{connect: npm, http: get("/squid-internal-periodic/store_digest")}, policy.RulePath),
	denied("a purge of Squid's cache", exchange{http: request("PURGE", "https://registry.npmjs.org/semver")}, policy.RuleMethod),
	denied("a request about Squid itself", exchange{http: "OPTIONS * HTTP/1.1\r\nHost: proxy\r\n\r\n"}, policy.RuleMalformed),
	denied("a URN", exchange{http: get("urn:ietf:rfc:2141")}, policy.RuleHost),
	denied("gopher", exchange{http: get("gopher://registry.npmjs.org:70/semver")}, policy.RuleMalformed),
	denied("a file", exchange{http: get("file:///etc/passwd")}, policy.RuleMalformed),

	// Where names lead: more in names_test.go.
	denied("a private name without a tunnel", exchange{http: "GET https://private.test/x HTTP/1.1\r\nHost: private.test\r\n\r\n"}, policy.RuleDestination),

	// Redirects.
	denied("a redirect to the registry itself", exchange{connect: npm, http: get("/moved-301")}, policy.RuleRedirect).seenByRegistry(),
	denied("a redirect to another method", exchange{connect: npm, http: get("/redirect-303")}, policy.RuleRedirect).seenByRegistry(),
	denied("a permanent redirect that keeps the method", exchange{connect: npm, http: get("/redirect-308")}, policy.RuleRedirect).seenByRegistry(),
}

// both is a connection whose first request is admitted and whose second is denied.
func both(name string, x exchange) row {
	return row{name: name, exchange: x, class: "1 admitted, 1 denied, 0 failed", rule: "allow_npm", reaches: true}
}
