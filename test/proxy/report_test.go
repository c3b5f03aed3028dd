//go:build proxy

package proxy

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/policy"
)

// verdict is one request of the report that ZT_PROXY_VERDICTS names: what must become
// of it and what did, each a class and the deciding rule.
type verdict struct {
	Against  string `json:"against"`
	Request  string `json:"request"`
	Expected string `json:"expected"`
	Seen     string `json:"seen"`
	Status   int    `json:"status"`
}

// report is what the tests of this package saw, written when they are over.
type report struct {
	mu sync.Mutex
	// Squid's version.
	Squid string `json:"squid"`
	// Differences counts the verdicts that are not the expected ones.
	Differences int `json:"differences"`
	// NotReached names the real registries that were not there to be asked.
	NotReached []string  `json:"notReached"`
	Verdicts   []verdict `json:"verdicts"`

	log strings.Builder
}

var seenVerdicts = &report{NotReached: []string{}, Verdicts: []verdict{}}

func (r *report) add(s *squid, v verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Squid = s.version()
	r.Verdicts = append(r.Verdicts, v)
	if v.Expected != v.Seen {
		r.Differences++
	}
}

func (r *report) addLog(s *squid) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.WriteString(s.log())
}

// notReached ends a test whose real registry does not answer: skipped, and said so in
// the report, or failed where ZT_PROXY_REAL is "required".
func (r *report) notReached(t *testing.T, host string, err error) {
	t.Helper()
	r.mu.Lock()
	r.NotReached = append(r.NotReached, fmt.Sprintf("%s: %v", host, err))
	r.mu.Unlock()
	if os.Getenv("ZT_PROXY_REAL") == "required" {
		t.Fatalf("%s cannot be reached from here: %v", host, err)
	}
	t.Skipf("%s cannot be reached from here: %v", host, err)
}

// write writes the verdicts, and the access logs they were read from beside them.
func (r *report) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(filepath.Dir(path), "access.log"), []byte(r.log.String()), 0o644)
}

func TestMain(m *testing.M) {
	code := m.Run()
	if path := os.Getenv("ZT_PROXY_VERDICTS"); path != "" {
		if err := seenVerdicts.write(path); err != nil {
			fmt.Fprintln(os.Stderr, "write the verdicts:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// check sends one row and compares the verdict; it returns what the client saw.
func (row row) check(t *testing.T, top *topology, s *squid, against string) reply {
	t.Helper()
	reply := s.send(top, row.exchange)
	class, rule := s.verdict(reply.port)
	want, got := row.class+" "+row.rule, class+" "+rule
	if row.rule5 != "" && strings.HasPrefix(s.version(), "5.") {
		want = row.rule5
	}
	seenVerdicts.add(s, verdict{against, row.name, want, got, reply.status})
	if got != want {
		t.Errorf("%s, want %s; the client saw %d, %v%s", got, want, reply.status, reply.err, describe(s.entries(reply.port)))
	}
	if class == "denied" && reply.status == 200 && !strings.HasSuffix(got, "response_too_large") {
		t.Errorf("denied, but the client saw a reply of %d bytes", reply.body)
	}
	if reply.alpn != "" && reply.alpn != "http/1.1" {
		t.Errorf("Squid speaks %s in the tunnel, which no rule judges", reply.alpn)
	}
	return reply
}

// cleanAudit judges the whole log again, as the operator does, and expects at least so
// many entries to be judged and none to be a violation.
func (s *squid) cleanAudit(t *testing.T, spec v1alpha1.ProxyPolicySpec, least int64) {
	t.Helper()
	time.Sleep(500 * time.Millisecond) // the log is written as connections end
	e, err := policy.NewEvaluator(spec, policy.SquidParams{MirrorIP: mirrorIP})
	if err != nil {
		t.Fatal(err)
	}
	audit, err := e.Audit(strings.NewReader(s.log()), 64<<20)
	if err != nil || audit.Violations != 0 || audit.Judged < least {
		t.Errorf("%+v, %v", audit, err)
	}
}

// reachable fails over to the report if a host has no address or no open port 443.
func reachable(t *testing.T, host string) {
	t.Helper()
	conn, err := net.DialTimeout("tcp4", net.JoinHostPort(host, "443"), clientTimeout)
	if err != nil {
		seenVerdicts.notReached(t, host, err)
	}
	conn.Close()
}
