package policy

import (
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// listener writes where Squid listens and how it impersonates a registry: with
// certificates from the attempt's own CA, toward registries whose certificates
// chain to the upstream bundle.
func (c *squidConfig) listener(p SquidParams) {
	c.lines("# Rendered from a ProxyPolicy for one attempt; do not edit.")
	c.section("Listener and certificates")
	c.line("http_port %s ssl-bump tls-cert=%s/ca.pem generate-host-certificates=on dynamic_cert_mem_cache_size=1MB", p.Listen, p.ConfigDir)
	c.line("sslcrtd_program /usr/lib/squid/security_file_certgen -s %s/ssl_db -M 4MB", p.RunDir)
	c.lines("sslcrtd_children 1 startup=1 idle=1")
	c.line("tls_outgoing_options default-ca=off cafile=%s/upstream-ca.pem min-version=1.2", p.RunDir)
}

// inspection peeks at the client hello, so that a name other than CONNECT's ends
// there; stares at the server, so that the impersonated certificate carries what
// strict clients demand; then reads the requests inside.
func (c *squidConfig) inspection(hosts []v1alpha1.PolicyHost) {
	c.section("TLS inspection")
	c.lines("ssl_bump peek step1")
	for _, host := range hosts {
		c.line("ssl_bump terminate step2 host_%s !sni_%s rule_%s", host.Name, host.Name, RuleSNI)
	}
	c.lines("ssl_bump stare step2", "ssl_bump bump all", "on_unsupported_protocol respond all")
}

// forwardedHeaders are the request headers a registry gets to see.
var forwardedHeaders = []string{
	"Accept", "Accept-Encoding", "User-Agent", "Host", "Connection",
	"If-None-Match", "If-Modified-Since", "Range",
}

func (c *squidConfig) hygiene(p SquidParams) {
	c.section("Toward the registries")
	for _, header := range forwardedHeaders {
		c.line("request_header_access %s allow all", header)
	}
	c.lines(
		"request_header_access All deny all",
		"forwarded_for delete",
		"follow_x_forwarded_for deny all",
		"never_direct deny all",
		"host_verify_strict on",
		// Stripped white space would turn a malformed URL into an admitted one.
		"uri_whitespace deny",
		"httpd_suppress_version_string on",
		// A name is what DNS says it is, never what a file in the image says.
		"hosts_file none",
	)
	if len(p.Nameservers) > 0 {
		c.line("dns_nameservers %s", strings.Join(p.Nameservers, " "))
	}
	c.section("Bounds")
	c.lines(
		"dns_timeout 5 seconds",
		"connect_timeout 10 seconds",
		"read_timeout 120 seconds",
		"request_header_max_size 16 KB",
		"client_request_buffer_max_size 64 KB",
		"quick_abort_min 0 KB",
		"quick_abort_max 0 KB",
	)
}

// accessLogFormat is one JSON object a request. Whatever a client or a registry
// chose is in a field that Squid quotes, so no request can forge a second one.
const accessLogFormat = `{"v":1,"t":%ts.%03tu,"ms":%tr,"src":"%>a","port":%>p,"method":"%"rm","url":"%"ru","result":"%Ss","status":%>Hs,` +
	`"up_status":"%<Hs","reply_bytes":%<st,"reply_headers":%<sh,"dst":"%<a","bump":"%ssl::bump_mode","sni":"%"ssl::>sni",` +
	`"rule":"%"{rule}note","err":"%err_code","err_detail":"%"err_detail","location":"%"{Location}<h"}`

// process writes what keeps Squid small, unprivileged and without state.
func (c *squidConfig) process(p SquidParams) {
	c.section("Process")
	c.lines(
		"visible_hostname proxy",
		"deny_info TCP_RESET rule_"+RuleSource,
		"cache deny all",
		"cache_mem 0 MB",
		"memory_pools off",
		"max_filedescriptors 4096",
		"pinger_enable off",
		"netdb_filename none",
		"pid_filename none",
		"client_db off",
		"digest_generation off",
		"logfile_rotate 0",
		"shutdown_lifetime 0 seconds",
		"coredump_dir "+p.RunDir,
		"cache_log "+p.RunDir+"/cache.log",
		"strip_query_terms off",
		"logformat zt "+accessLogFormat,
		"access_log stdio:"+p.RunDir+"/access.log zt",
	)
}
