package policy

import (
	"bytes"
	"io"
	"net/netip"
	"strconv"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/safetext"
)

const (
	// maxViolations bounds what an audit lists; one is enough to distrust a run.
	maxViolations = 16
	// maxViolationURL bounds the URL of a listed violation, escaped.
	maxViolationURL = 256
	// ruleNone is what was let out without any rule of ours.
	ruleNone = "no_rule"
)

// Audit judges every entry of an access log that Squid let out, tunnels included,
// of at most limit bytes. An entry that cannot be read counts as a violation: what
// it let out is not known.
func (e *Evaluator) Audit(log io.Reader, limit int64) (v1alpha1.EgressAudit, error) {
	var out v1alpha1.EgressAudit
	err := eachLine(io.LimitReader(log, limit), func(line []byte) {
		if !bytes.HasPrefix(line, entryPrefix) {
			return
		}
		judged, violation := e.auditLine(trimLine(line))
		if judged {
			out.Judged++
		}
		addViolation(&out, violation)
	}, func() {
		addViolation(&out, &v1alpha1.EgressViolation{Expected: ruleUnreadable})
	})
	return out, err
}

func addViolation(out *v1alpha1.EgressAudit, violation *v1alpha1.EgressViolation) {
	if violation == nil {
		return
	}
	if out.Violations++; len(out.Found) < maxViolations {
		out.Found = append(out.Found, *violation)
	}
}

// auditLine judges one line; judged is false if Squid let nothing out for it.
func (e *Evaluator) auditLine(line []byte) (judged bool, violation *v1alpha1.EgressViolation) {
	entry, err := parseEntry(line)
	if err != nil {
		return false, &v1alpha1.EgressViolation{
			Expected: ruleUnreadable, Request: safetext.Line(string(line[:min(len(line), maxViolationURL)]), maxViolationURL),
		}
	}
	seen, out := entry.letOut(e.maxBytes)
	if !out {
		return false, nil
	}
	if expected := e.judgeEntry(entry, seen); expected != "" {
		return true, &v1alpha1.EgressViolation{Seen: seen, Expected: expected, Request: requestText(entry, expected)}
	}
	return true, nil
}

// requestText names an entry for people: its URL, and where it was sent to if that is
// what is wrong with it.
func requestText(entry entry, expected string) string {
	text := entry.URL[:min(len(entry.URL), maxViolationURL)]
	if expected == RuleRedirectOff {
		half := text[:min(len(text), maxViolationURL/2)]
		text = half + " led to " + entry.Location[:min(len(entry.Location), maxViolationURL/2)]
	}
	return safetext.Line(text, maxViolationURL)
}

// judgeEntry is the rule by which the evaluator decides otherwise, or "".
func (e *Evaluator) judgeEntry(entry entry, seen string) string {
	verdict := e.Evaluate(entry.request())
	isReply := seen == RuleRedirect || seen == RuleRedirectOff
	switch {
	case !verdict.Allowed, !isReply && verdict.Rule != seen:
		return verdict.Rule
	case !isReply && isRedirect(entry.Upstream) && isRedirect(strconv.Itoa(entry.Status)):
		return e.judgeRedirect(entry)
	}
	return ""
}

// judgeRedirect judges a redirect that went through to the mirror, by where it led.
// Which hop of how many it was is not in the log: the next one is an entry of its own.
func (e *Evaluator) judgeRedirect(entry entry) string {
	if e.maxRedirects == 0 {
		return RuleRedirect
	}
	return e.EvaluateReply(Reply{Status: entry.Status, Location: orElse(entry.Location, "")}).Rule
}

// letOut says whether Squid sent anything toward a registry for an entry, and the
// rule in its log. Denied replies count: their requests were sent.
func (e entry) letOut(maxBytes int64) (rule string, out bool) {
	class, _ := e.classify(maxBytes)
	switch {
	case e.URL == noHeaders || e.Start != "" || e.domainMismatch():
		return "", false
	case e.Method == "CONNECT":
		return RuleConnect, e.Rule == RuleConnect && class == ignored
	case strings.HasPrefix(e.Rule, allowPrefix):
		return e.Rule, true
	case orElse(e.Upstream, "") != "":
		if e.Rule == "" {
			return ruleNone, true
		}
		return e.Rule, true
	}
	return "", false
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
