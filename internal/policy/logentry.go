package policy

import (
	"encoding/json"
	"fmt"
	"strings"
)

// entry is one line of Squid's access log, as accessLogFormat writes it.
type entry struct {
	Version    int    `json:"v"`
	Method     string `json:"method"`
	URL        string `json:"url"`
	Result     string `json:"result"`
	Status     int    `json:"status"`
	Upstream   string `json:"up_status"`
	ReplyBytes int64  `json:"reply_bytes"`
	Bump       string `json:"bump"`
	Rule       string `json:"rule"`
	Err        string `json:"err"`
	ErrDetail  string `json:"err_detail"`
}

// parseEntry reads one line. Squid quotes what clients and registries chose but
// leaves control bytes other than line ends as they came; JSON does not admit
// them, so they are escaped first.
func parseEntry(line []byte) (entry, error) {
	var e entry
	if err := json.Unmarshal(escapeControls(line), &e); err != nil {
		return entry{}, fmt.Errorf("read an access log line: %w", err)
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

// classify says what an entry counts as and under which rule. maxBytes is the
// policy's limit of one response, or 0 if the caller does not know it.
func (e entry) classify(maxBytes int64) (class, string) {
	switch {
	case e.noRequest():
		return ignored, ""
	case strings.Contains(e.ErrDetail, "DOMAIN_MISMATCH"):
		return denied, RuleHostMismatch
	case e.Bump == "terminate":
		return denied, orElse(e.Rule, RuleSNI)
	case strings.HasPrefix(e.Result, "TCP_DENIED"):
		return denied, orElse(e.Rule, RuleMalformed)
	case e.Method == "CONNECT" && e.Rule == RuleConnect:
		return ignored, ""
	case strings.HasPrefix(e.Rule, allowPrefix):
		return e.classifyAllowed(maxBytes)
	case e.Rule != "":
		return denied, e.Rule
	case e.Status == 400 || e.Status == 411 || e.Status == 414 || e.Status == 431:
		return denied, RuleMalformed
	}
	return ignored, ""
}

// noRequest is true of connections that ended before a request: readiness probes
// and idle connections that the mirror closed.
func (e entry) noRequest() bool {
	return e.URL == "error:transaction-end-before-headers" || (e.Method == "" && e.URL == "")
}

func (e entry) classifyAllowed(maxBytes int64) (class, string) {
	switch {
	case e.Err == "ERR_TOO_BIG" || (maxBytes > 0 && e.ReplyBytes > maxBytes):
		return denied, RuleTooLarge
	case (e.Err != "" && e.Err != "-") || e.Status >= 500 || e.Status == 0:
		return failed, e.Rule
	}
	return admitted, e.Rule
}

func orElse(text, otherwise string) string {
	if text == "" || text == "-" {
		return otherwise
	}
	return text
}
