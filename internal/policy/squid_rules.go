package policy

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// literalPattern finds IP literals in every spelling that a resolver would take
// for one: bracketed, with colons, dotted, short, decimal, octal, hexadecimal.
const literalPattern = `^\[|:|^(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+)){0,3}\.?$`

// facts writes the ACLs that state what is true of a request.
func (c *squidConfig) facts(spec v1alpha1.ProxyPolicySpec, mirror netip.Addr) {
	c.section("Facts about a request")
	c.line("acl mirrors src %s", netip.PrefixFrom(mirror, mirror.BitLen()))
	c.lines("acl CONNECT method CONNECT")
	c.line("acl package_methods method %s", join(spec.Methods))
	c.lines(
		"acl tls_port port 443",
		"acl https_proto proto HTTPS",
		"acl has_body req_header Content-Length [1-9]",
		"acl chunked_body req_header Transfer-Encoding .",
		"acl ip_literal dstdom_regex -n -i "+literalPattern,
		`acl has_query urlpath_regex \?`,
		"acl has_credentials urllogin .",
	)
	names := make([]string, 0, len(spec.Hosts))
	for _, host := range spec.Hosts {
		names = append(names, host.Host)
		c.line("acl host_%s dstdomain -n %s", host.Name, host.Host)
		c.line("acl sni_%s ssl::server_name --client-requested %s", host.Name, host.Host)
		for _, path := range host.Paths {
			c.line("acl path_%s urlpath_regex %s", host.Name, path)
		}
	}
	c.line("acl registry_hosts dstdomain -n %s", strings.Join(names, " "))
	// Outside a tunnel, and before its client hello, the URL's host is matched.
	c.line("acl tunnel ssl::server_name --client-requested %s", strings.Join(names, " "))
	if spec.MaxRedirects > 0 {
		c.line("acl registry_location rep_header Location %s", locationPattern(spec.Hosts))
	}
	for _, prefix := range Forbidden(spec) {
		c.line("acl forbidden_dst dst %s", prefix)
	}
	// 304 answers a mirror's conditional request; every other 3xx is a redirect.
	c.lines(
		"acl redirect_status http_status 300-303",
		"acl redirect_status http_status 305-399",
		"acl step1 at_step SslBump1",
		"acl step2 at_step SslBump2",
	)
}

// reasons writes the always-true ACLs that name the deciding rule in the log.
func (c *squidConfig) reasons(spec v1alpha1.ProxyPolicySpec) {
	c.section("Names of the rules, for the access log")
	rules := []string{
		RuleSource, RuleIPLiteral, RuleHost, RulePort, RuleScheme, RuleChunked, RuleBody, RuleMethod,
		RuleQuery, RuleCredentials, RuleDestination, RuleConnect, RuleHostMismatch, RulePath, RuleRedirect, RuleSNI,
	}
	if spec.MaxRedirects > 0 {
		rules = append(rules, RuleRedirectOff)
	}
	for _, host := range spec.Hosts {
		rules = append(rules, allowPrefix+host.Name)
	}
	for _, rule := range rules {
		c.line("acl rule_%s annotate_transaction rule=%s", rule, rule)
	}
}

// requestRules writes the request policy: the first line that matches decides,
// the last one denies.
func (c *squidConfig) requestRules(spec v1alpha1.ProxyPolicySpec) {
	c.section("Request policy")
	deny := func(facts, rule string) { c.line("http_access deny %s rule_%s", facts, rule) }
	deny("!mirrors", RuleSource)
	// A tunnel to one admitted host is no way to ask for another: the two may share
	// a certificate.
	for _, host := range spec.Hosts {
		deny(fmt.Sprintf("host_%s !sni_%s", host.Name, host.Name), RuleHostMismatch)
	}
	deny("!registry_hosts tunnel", RuleHostMismatch)
	deny("ip_literal", RuleIPLiteral)
	deny("!registry_hosts", RuleHost)
	deny("!tls_port", RulePort)
	deny("!CONNECT !https_proto", RuleScheme)
	deny("chunked_body", RuleChunked)
	deny("has_body", RuleBody)
	deny("!CONNECT !package_methods", RuleMethod)
	deny("has_query", RuleQuery)
	deny("has_credentials", RuleCredentials)
	deny("forbidden_dst", RuleDestination)
	c.line("http_access allow CONNECT rule_%s", RuleConnect)
	for _, host := range spec.Hosts {
		c.line("http_access allow host_%s path_%s rule_%s%s", host.Name, host.Name, allowPrefix, host.Name)
	}
	deny("all", RulePath)
}

func (c *squidConfig) replyRules(spec v1alpha1.ProxyPolicySpec) {
	c.section("Reply policy")
	if spec.MaxRedirects > 0 {
		c.line("http_reply_access deny redirect_status !registry_location rule_%s", RuleRedirectOff)
	} else {
		c.line("http_reply_access deny redirect_status rule_%s", RuleRedirect)
	}
	c.lines("http_reply_access allow all")
	c.line("reply_body_max_size %d MB", spec.MaxResponseMiB)
}

func join[T ~string](items []T) string {
	var b strings.Builder
	for i, item := range items {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprint(&b, item)
	}
	return b.String()
}
