package policy

// Names of the deciding rules. Squid's access log and the evaluator use the same
// ones; an admitted request's rule is allowPrefix and its host's name.
const (
	RuleSource      = "source_not_mirror"
	RuleIPLiteral   = "ip_literal"
	RuleHost        = "host_not_allowed"
	RulePort        = "port_not_443"
	RuleScheme      = "scheme_not_https"
	RuleChunked     = "chunked_body"
	RuleBody        = "request_body"
	RuleMethod      = "method_not_allowed"
	RuleQuery       = "query_string"
	RuleCredentials = "url_credentials"
	RuleDestination = "destination_forbidden"
	RuleConnect     = "connect_allowed"
	// RuleHostMismatch is also what the log reader calls a request whose host is
	// not in the certificate of its tunnel, which Squid ends by itself.
	RuleHostMismatch = "host_mismatch"
	RulePath         = "path_not_allowed"
	RuleRedirect     = "redirect_reply"
	// RuleRedirectOff is a redirect that leads off the registries. Squid names it so
	// only if the policy has a redirect budget; without one, each is RuleRedirect.
	RuleRedirectOff = "redirect_off_registry"
	RuleSNI         = "sni_not_allowed"

	allowPrefix = "allow_"
)

// Names the log reader gives to entries that Squid ended without a rule of ours.
const (
	RuleTooLarge  = "response_too_large"
	RuleMalformed = "malformed_request"
	RuleUpstream  = "upstream_failed"
)
