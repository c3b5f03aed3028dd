package policy

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
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
	// maxEntryReply bounds what one line may add to the sum, so that it cannot
	// overflow: 4 TiB is more than any reply and less than 2^63 / lines.
	maxEntryReply = 4 << 40
	// maxListed bounds the lists of a status, as its schema does.
	maxListed = 32
	// ruleUnreadable counts lines that are not entries.
	ruleUnreadable = "unreadable_entry"
)

// entryPrefix begins every line that is Squid's own.
var entryPrefix = []byte(`{"v":`)

// ParseAccessLog sums up Squid's access log, reading at most limit bytes of it.
// Truncated is set if the log is longer, or if its beginning is missing: the
// squid image writes a first line of its own, which a rotated log has lost.
//
// Lines that do not begin like an entry are not Squid's and are skipped; those
// that do but cannot be read are counted as unreadable_entry: the URLs in a log
// are hostile text. The only error is the reader's; what was read before it is
// returned with it.
func ParseAccessLog(log io.Reader, limit int64) (v1alpha1.EgressStatus, error) {
	s := summary{rules: map[string]int64{}, hosts: map[string]int64{}, failures: map[string]int64{}}
	input, read := &io.LimitedReader{R: log, N: limit + 1}, sha256.New()
	err := eachLine(io.TeeReader(input, read), s.add, func() { s.rules[ruleUnreadable]++ })
	status := s.status(input.N <= 0)
	status.LogDigest = "sha256:" + hex.EncodeToString(read.Sum(nil))
	return status, err
}

// eachLine calls line for each complete line and long for each line over
// maxEntryBytes. An unfinished last line is one that Squid is still writing.
func eachLine(input io.Reader, line func([]byte), long func()) error {
	lines := bufio.NewReaderSize(input, maxEntryBytes)
	for {
		text, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long()
			err = skipLine(lines)
		} else if err == nil {
			line(text)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read squid's access log: %w", err)
		}
	}
}

func trimLine(line []byte) []byte { return bytes.TrimSuffix(line, []byte("\n")) }

func skipLine(lines *bufio.Reader) error {
	for {
		_, err := lines.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// summary counts entries. Its maps are bounded by what they are keyed with: rules
// by the names in this package and a policy, failures by the catalogue, hosts by
// bounded().
type summary struct {
	total                  v1alpha1.EgressStatus
	rules, hosts, failures map[string]int64
	excerpt                excerpt
	begun                  bool // the first line of the log was seen
}

func (s *summary) add(line []byte) {
	if !bytes.HasPrefix(line, entryPrefix) {
		return
	}
	e, err := parseEntry(trimLine(line))
	if err != nil {
		s.rules[ruleUnreadable]++
		return
	}
	s.begun = s.begun || e.Start != ""
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
		if reason := e.failure(); reason != "" {
			s.failures[string(reason)]++
		}
	}
	s.excerpt.add(e, class, rule)
	if rule == RuleRedirect || isRedirect(e.Upstream) {
		s.total.Redirects++
	}
	s.total.Bytes += min(max(e.ReplyBytes, 0), maxEntryReply)
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
	out.Truncated, out.Log = truncated || !s.begun, s.excerpt.lines
	for _, pair := range mostFrequent(s.rules) {
		out.Rules = append(out.Rules, v1alpha1.RuleCount{Rule: pair.key, Count: pair.count})
	}
	for _, pair := range mostFrequent(s.failures) {
		out.Failures = append(out.Failures, v1alpha1.FailureCount{Reason: v1alpha1.Detail(pair.key), Count: pair.count})
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
			return cmp.Compare(b.count, a.count)
		}
		return strings.Compare(a.key, b.key)
	})
	return pairs[:min(len(pairs), maxListed)]
}
