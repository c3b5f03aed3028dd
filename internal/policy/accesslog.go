package policy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

const (
	// maxEntryBytes bounds one log line. Squid admits 16 KiB of request headers,
	// and a URL in it can double in length by quoting.
	maxEntryBytes = 64 << 10
	// maxListed bounds the lists of a status, as its schema does.
	maxListed = 32
	// ruleUnreadable counts lines that are not entries.
	ruleUnreadable = "unreadable_entry"
)

// ParseAccessLog sums up Squid's access log, reading at most limit bytes of it. A
// longer log sets Truncated. Lines that are not entries are counted under their
// own rule and otherwise skipped: the URLs in a log are hostile text. The only
// error is the reader's, and what was read before it is returned with it.
func ParseAccessLog(log io.Reader, limit int64) (v1alpha1.EgressStatus, error) {
	s := summary{rules: map[string]int64{}, hosts: map[string]int64{}}
	counted := &io.LimitedReader{R: log, N: limit + 1}
	lines := bufio.NewReaderSize(counted, maxEntryBytes)
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			s.rules[ruleUnreadable]++
			err = skipLine(lines)
		case err == nil || errors.Is(err, io.EOF) && counted.N > 0:
			s.add(line)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return s.status(counted.N <= 0), fmt.Errorf("read squid's access log: %w", err)
		}
	}
	return s.status(counted.N <= 0), nil
}

func skipLine(lines *bufio.Reader) error {
	for {
		_, err := lines.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// summary counts entries. Its maps are bounded by what they are keyed with: rules
// by the names in this package and a policy, hosts by bounded().
type summary struct {
	total        v1alpha1.EgressStatus
	rules, hosts map[string]int64
}

func (s *summary) add(line []byte) {
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return
	}
	e, err := parseEntry(line)
	if err != nil {
		s.rules[ruleUnreadable]++
		return
	}
	class, rule := e.classify(MaxResponseMiB << 20)
	switch class {
	case ignored:
		return
	case admitted:
		s.total.Admitted++
	case denied:
		s.total.Denied++
	case failed:
		s.total.Failed++
	}
	if rule == RuleRedirect || isRedirect(e.Upstream) {
		s.total.Redirects++
	}
	s.total.Bytes += max(e.ReplyBytes, 0)
	bounded(s.rules, rule)
	if host := e.host(); host != "" {
		bounded(s.hosts, host)
	}
}

func isRedirect(status string) bool {
	return len(status) == 3 && status[0] == '3' && status != "304"
}

// maxKeys bounds the memory that a log of invented hosts can take.
const maxKeys = 4096

func bounded(counts map[string]int64, key string) {
	if _, known := counts[key]; known || len(counts) < maxKeys {
		counts[key]++
	}
}

// host returns the host a request named if it is a DNS name, else "".
func (e entry) host() string {
	authority := e.URL
	if parsed, err := url.Parse(e.URL); err == nil && parsed.Host != "" {
		authority = parsed.Host
	}
	host, _, _ := strings.Cut(authority, ":")
	host = strings.ToLower(host)
	if len(host) > 253 || !hostName.MatchString(host) {
		return ""
	}
	return host
}

func (s *summary) status(truncated bool) v1alpha1.EgressStatus {
	out := s.total
	out.Truncated = truncated
	for _, pair := range mostFrequent(s.rules) {
		out.Rules = append(out.Rules, v1alpha1.RuleCount{Rule: pair.key, Count: pair.count})
	}
	for _, pair := range mostFrequent(s.hosts) {
		out.Hosts = append(out.Hosts, v1alpha1.HostCount{Host: pair.key, Count: pair.count})
	}
	return out
}

type keyCount struct {
	key   string
	count int64
}

func mostFrequent(counts map[string]int64) []keyCount {
	pairs := make([]keyCount, 0, len(counts))
	for key, count := range counts {
		pairs = append(pairs, keyCount{key, count})
	}
	slices.SortFunc(pairs, func(a, b keyCount) int {
		if a.count != b.count {
			return int(b.count - a.count)
		}
		return strings.Compare(a.key, b.key)
	})
	return pairs[:min(len(pairs), maxListed)]
}
