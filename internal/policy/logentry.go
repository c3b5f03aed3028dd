package policy

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// entry is one line of Squid's access log, as accessLogFormat writes it.
type entry struct {
	Version      int    `json:"v"`
	Method       string `json:"method"`
	URL          string `json:"url"`
	Result       string `json:"result"`
	Status       int    `json:"status"`
	Upstream     string `json:"up_status"`
	Start        string `json:"start"`
	ReplyBytes   int64  `json:"reply_bytes"`
	ReplyHeaders int64  `json:"reply_headers"`
	Source       string `json:"src"`
	Destination  string `json:"dst"`
	ServerName   string `json:"sni"`
	Bump         string `json:"bump"`
	Rule         string `json:"rule"`
	Err          string `json:"err"`
	ErrDetail    string `json:"err_detail"`
	Location     string `json:"location"`
}

// loggedRule is what a rule's name can be: allow_ and a policy's name of 32 bytes
// are the longest there are.
var loggedRule = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// parseEntry reads one line. Squid quotes what clients and registries chose but
// leaves control bytes other than line ends as they came; JSON does not admit
// them, so they are escaped first.
func parseEntry(line []byte) (entry, error) {
	var e entry
	if err := json.Unmarshal(escapeControls(line), &e); err != nil {
		return entry{}, fmt.Errorf("read an access log line: %w", err)
	}
	if e.Rule = orElse(e.Rule, ""); e.Rule != "" && !loggedRule.MatchString(e.Rule) {
		return entry{}, fmt.Errorf("%.80q is no rule's name", e.Rule)
	}
	if e.Version != 1 {
		return entry{}, fmt.Errorf("an access log line of version %d, want 1", e.Version)
	}
	return e, nil
}

func escapeControls(line []byte) []byte {
	clean := true
	for _, b := range line {
		clean = clean && b >= ' '
	}
	if clean {
		return line
	}
	var out strings.Builder
	for _, b := range line {
		if b < ' ' {
			fmt.Fprintf(&out, `\u%04x`, b)
		} else {
			out.WriteByte(b)
		}
	}
	return []byte(out.String())
}

// class is what an entry counts as.
type class int

const (
	ignored class = iota
	admitted
	denied
	failed
)

func (c class) String() string { return [...]string{"ignored", "admitted", "denied", "failed"}[c] }

// classify says what an entry counts as and under which rule. maxBytes is the
// limit of one response's body.
//
// A CONNECT that is admitted is not a request: what is sent inside is, and has an
// entry of its own. A CONNECT that is denied is one; the error page that Squid
// serves inside it has an entry without a rule, which is ignored.
func (e entry) classify(maxBytes int64) (class, string) {
	switch {
	case e.URL == noHeaders || e.Start != "":
		return ignored, ""
	case e.Bump == "terminate":
		return denied, orElse(e.Rule, RuleSNI)
	case e.Method == "CONNECT" && e.Rule == RuleConnect:
		if e.Err == "ERR_PROTOCOL_UNKNOWN" {
			return denied, RuleMalformed
		}
		return ignored, ""
	case strings.HasPrefix(e.Rule, allowPrefix):
		return e.classifyAllowed(maxBytes)
	case e.Rule != "":
		return denied, e.Rule
	}
	return e.classifyUnnamed()
}

// noHeaders is the URL of connections that ended before a request: readiness
// probes and idle connections that the mirror closed.
const noHeaders = "error:transaction-end-before-headers"

func (e entry) classifyAllowed(maxBytes int64) (class, string) {
	switch {
	case e.Err == "ERR_TOO_BIG" || e.ReplyBytes-e.ReplyHeaders > maxBytes:
		// A chunked reply is only cut, and logged like a complete one. Its framing
		// counts as well, which errs on the side of too large by some 0.2 %.
		return denied, RuleTooLarge
	case e.domainMismatch():
		return denied, RuleHostMismatch
	case orElse(e.Err, "") != "" || cannotServe(e.Status) || e.Status == 0:
		return failed, e.Rule
	}
	return admitted, e.Rule
}

// classifyUnnamed classifies what Squid ended before or after our rules.
func (e entry) classifyUnnamed() (class, string) {
	switch {
	case e.domainMismatch():
		return denied, RuleHostMismatch
	case e.Status == 403 && strings.HasPrefix(e.Result, "NONE"):
		return ignored, ""
	case strings.HasPrefix(e.Result, "TCP_DENIED") || (e.Status >= 400 && e.Status < 500) || e.Status == 501 || e.Status == 505:
		return denied, RuleMalformed
	case e.Status >= 500 || orElse(e.Err, "") != "":
		return failed, RuleUpstream
	}
	return ignored, ""
}

// domainMismatch is true if the request's host is not in the certificate of the
// server that its tunnel leads to.
func (e entry) domainMismatch() bool { return strings.Contains(e.ErrDetail, "DOMAIN_MISMATCH") }

// orElse returns otherwise for what Squid logs as absent.
func orElse(text, otherwise string) string {
	if text == "" || text == "-" {
		return otherwise
	}
	return text
}
