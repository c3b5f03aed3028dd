package policy

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// Request is one request to the proxy, as Squid parsed it: either a CONNECT, or
// what is asked inside a tunnel or without one.
type Request struct {
	// Source is the client's address.
	Source netip.Addr
	// Method as sent; CONNECT asks for a tunnel.
	Method string
	// Scheme, Host and Port of the URL; a CONNECT has no scheme.
	Scheme string
	Host   string
	Port   int
	// Credentials is true if the URL carries user information.
	Credentials bool
	// Path with its query, as sent: not decoded.
	Path string
	// ContentLength is the header's value, TransferEncoding likewise; empty for
	// absent ones.
	ContentLength    string
	TransferEncoding string
	// ServerName is the name of the client hello that follows a CONNECT; empty for
	// none.
	ServerName string
	// Tunnel is the host of the CONNECT that this request is asked in; empty for
	// none. The tunnel's client hello had a server name, as every mirror's has.
	Tunnel string
	// Addresses are what the host resolves to.
	Addresses []netip.Addr
}

// Reply is what the evaluator judges of an answer.
type Reply struct {
	Status int
	// Location is the header of a redirect, as sent; empty for none.
	Location string
	// Hops counts the redirects that led to the request.
	Hops int
	// BodyBytes is the size of the body.
	BodyBytes int64
}

// Verdict is a decision and the rule that made it; the rule's name is the one in
// Squid's access log.
type Verdict struct {
	Allowed bool
	Rule    string
}

// Evaluator judges requests by the same rules, in the same order, as the Squid
// configuration of the same policy, ecosystem and mirror.
type Evaluator struct {
	mirror    netip.Addr
	methods   []v1alpha1.PolicyMethod
	hosts     []evaluatedHost
	forbidden []netip.Prefix
	maxBytes  int64

	locations    *regexp.Regexp
	maxRedirects int
}

type evaluatedHost struct {
	name, host string
	paths      []*regexp.Regexp
}

// NewEvaluator compiles a policy for one ecosystem's mirror. Its errors are those
// of RenderSquid.
func NewEvaluator(spec v1alpha1.ProxyPolicySpec, params SquidParams) (*Evaluator, error) {
	spec, mirror, err := prepare(spec, params)
	if err != nil {
		return nil, err
	}
	e := &Evaluator{
		mirror: mirror, methods: spec.Methods, forbidden: Forbidden(spec),
		maxBytes:  int64(spec.MaxResponseMiB) << 20,
		locations: regexp.MustCompile(locationPattern(spec.Hosts)), maxRedirects: int(spec.MaxRedirects),
	}
	for _, host := range spec.Hosts {
		evaluated := evaluatedHost{name: host.Name, host: host.Host}
		for _, path := range host.Paths {
			compiled, err := compilePattern(string(path))
			if err != nil {
				return nil, Problem{Field: "spec.hosts", Detail: v1alpha1.DetailPolicyPatternInvalid, Message: err.Error()}
			}
			evaluated.paths = append(evaluated.paths, compiled)
		}
		e.hosts = append(e.hosts, evaluated)
	}
	return e, nil
}

// Evaluate judges a request. The order is that of the configuration: the first
// rule that matches decides, and what none admits is denied.
func (e *Evaluator) Evaluate(r Request) Verdict {
	host := normalHost(r.Host)
	known := e.host(host)
	switch {
	case r.Source.Unmap() != e.mirror:
		return Verdict{Rule: RuleSource}
	case r.Tunnel != "" && normalHost(r.Tunnel) != host:
		return Verdict{Rule: RuleHostMismatch}
	case isIPLiteral(host):
		return Verdict{Rule: RuleIPLiteral}
	case known == nil:
		return Verdict{Rule: RuleHost}
	case r.Port != 443:
		return Verdict{Rule: RulePort}
	}
	if r.Method == "CONNECT" {
		return e.evaluateConnect(r, host)
	}
	return e.evaluateRequest(r, known)
}

func (e *Evaluator) evaluateConnect(r Request, host string) Verdict {
	switch rule := e.bodyRule(r); {
	case rule != "":
		return Verdict{Rule: rule}
	case slices.ContainsFunc(r.Addresses, e.isForbidden):
		return Verdict{Rule: RuleDestination}
	case r.ServerName != "" && normalHost(r.ServerName) != host:
		return Verdict{Rule: RuleSNI}
	}
	return Verdict{Allowed: true, Rule: RuleConnect}
}

func (e *Evaluator) evaluateRequest(r Request, host *evaluatedHost) Verdict {
	path := decodePath(r.Path)
	if r.Scheme != "https" {
		return Verdict{Rule: RuleScheme}
	}
	switch rule := e.bodyRule(r); {
	case rule != "":
		return Verdict{Rule: rule}
	case !slices.Contains(e.methods, v1alpha1.PolicyMethod(r.Method)):
		return Verdict{Rule: RuleMethod}
	case strings.Contains(path, "?"):
		return Verdict{Rule: RuleQuery}
	case r.Credentials:
		return Verdict{Rule: RuleCredentials}
	case slices.ContainsFunc(r.Addresses, e.isForbidden):
		return Verdict{Rule: RuleDestination}
	case !host.admits(path):
		return Verdict{Rule: RulePath}
	}
	return Verdict{Allowed: true, Rule: allowPrefix + host.name}
}

// bodyRule returns the rule that denies a request for its body, or "".
func (e *Evaluator) bodyRule(r Request) string {
	switch {
	case r.TransferEncoding != "":
		return RuleChunked
	case strings.ContainsAny(r.ContentLength, "123456789"):
		return RuleBody
	}
	return ""
}

// EvaluateReply judges the answer to a request that was admitted. A redirect's
// destination is judged first: one that leads off the registries is named so. Squid
// sees each hop as a request of its own: the count of hops is judged here alone.
func (e *Evaluator) EvaluateReply(r Reply) Verdict {
	redirect := r.Status >= 300 && r.Status <= 399 && r.Status != 304
	switch {
	case redirect && !e.locations.MatchString(r.Location):
		return Verdict{Rule: RuleRedirectOff}
	case redirect && r.Hops >= e.maxRedirects:
		return Verdict{Rule: RuleRedirect}
	case r.BodyBytes > e.maxBytes:
		return Verdict{Rule: RuleTooLarge}
	}
	return Verdict{Allowed: true}
}

func (e *Evaluator) host(name string) *evaluatedHost {
	for i := range e.hosts {
		if e.hosts[i].host == name {
			return &e.hosts[i]
		}
	}
	return nil
}

func (e *Evaluator) isForbidden(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	return slices.ContainsFunc(e.forbidden, func(p netip.Prefix) bool { return p.Contains(address) })
}

func (h *evaluatedHost) admits(path string) bool {
	return slices.ContainsFunc(h.paths, func(p *regexp.Regexp) bool { return p.MatchString(path) })
}

var literalExpression = regexp.MustCompile(`(?i)` + literalPattern)

// isIPLiteral reports whether a host is an address in any spelling.
func isIPLiteral(host string) bool { return literalExpression.MatchString(host) }

// normalHost folds a host name as Squid does: small letters, without the dot of
// the root.
func normalHost(host string) string {
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// decodePath decodes a path once, exactly as Squid does before it matches
// urlpath_regex: %% is a percent sign, %00 and what is not hexadecimal stay.
func decodePath(path string) string {
	if !strings.Contains(path, "%") {
		return path
	}
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		switch {
		case path[i] != '%':
		case i+1 < len(path) && path[i+1] == '%':
			i++
		case i+2 < len(path):
			if value, ok := hexByte(path[i+1], path[i+2]); ok && value != 0 {
				out = append(out, value)
				i += 2
				continue
			}
		}
		out = append(out, path[i])
	}
	return string(out)
}

func hexByte(high, low byte) (byte, bool) {
	h, okHigh := hexDigit(high)
	l, okLow := hexDigit(low)
	return h<<4 | l, okHigh && okLow
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
