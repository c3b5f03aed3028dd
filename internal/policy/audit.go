package policy

import (
	"io"
	"net/netip"
	"strconv"
	"strings"
)

// maxViolations bounds what an audit reports; one is enough to distrust a run.
const maxViolations = 16

// Violation is an entry of the access log that Squid admitted and the evaluator
// would not have.
type Violation struct {
	// Logged is the rule in the log, Judged the evaluator's.
	Logged, Judged string
	// URL as logged: hostile text of at most 512 bytes.
	URL string
}

// Audit judges every entry of an access log that was admitted, tunnels included,
// and returns the first ones that should not have been, of at most limit bytes.
func (e *Evaluator) Audit(log io.Reader, limit int64) ([]Violation, error) {
	var found []Violation
	err := eachLine(io.LimitReader(log, limit), func(line []byte) {
		if violation := e.auditLine(line); violation != nil && len(found) < maxViolations {
			found = append(found, *violation)
		}
	}, func() {})
	return found, err
}

func (e *Evaluator) auditLine(line []byte) *Violation {
	entry, err := parseEntry(trimLine(line))
	if err != nil {
		return nil
	}
	class, rule := entry.classify(e.maxBytes)
	tunnel := entry.Method == "CONNECT" && entry.Rule == RuleConnect && class == ignored
	if class != admitted && !tunnel {
		return nil
	}
	if tunnel {
		rule = RuleConnect
	}
	verdict := e.Evaluate(entry.request())
	if verdict.Allowed && verdict.Rule == rule {
		return nil
	}
	return &Violation{Logged: rule, Judged: verdict.Rule, URL: entry.URL[:min(len(entry.URL), 512)]}
}

// request rebuilds what Squid judged from what it logged. Headers of a body are
// not in the log: a request with one has no admitted entry to be audited.
func (e entry) request() Request {
	r := Request{Method: e.Method}
	r.Source, _ = netip.ParseAddr(e.Source)
	if address, err := netip.ParseAddr(e.Destination); err == nil {
		r.Addresses = []netip.Addr{address}
	}
	rest := e.URL
	if scheme, after, found := strings.Cut(rest, "://"); found && e.Method != "CONNECT" {
		r.Scheme, rest = scheme, after
	}
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		rest, r.Path = rest[:i], rest[i:]
	}
	r.Host, r.Port = splitAuthority(rest)
	if name := orElse(e.ServerName, ""); e.Method == "CONNECT" {
		r.ServerName = name
	} else {
		r.Tunnel = name
	}
	return r
}

// splitAuthority splits host and port; without a port it is that of https.
func splitAuthority(authority string) (host string, port int) {
	colon := strings.LastIndexByte(authority, ':')
	if colon < 0 || strings.HasSuffix(authority, "]") {
		return authority, 443
	}
	port, err := strconv.Atoi(authority[colon+1:])
	if err != nil {
		return authority, 0
	}
	return authority[:colon], port
}
