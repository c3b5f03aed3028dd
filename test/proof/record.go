package proof

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// DirVariable names the folder that records are written to. Without it the proofs are
// tests and nothing else.
const DirVariable = "ZT_PROOF_DIR"

// Record is the evidence for one criterion, one file.
type Record struct {
	// Criterion is its name in the specification, such as AC1.
	Criterion string `json:"criterion"`
	// Claim is what the rows show together.
	Claim string `json:"claim"`
	// Held is true if every row was as expected and nothing else failed.
	Held  bool      `json:"held"`
	Begun time.Time `json:"begun"`
	// Seconds from the first step to the last.
	Seconds float64 `json:"seconds"`
	Rows    []Row   `json:"rows"`

	mu sync.Mutex
}

// Row is one thing that was tried.
type Row struct {
	Name string `json:"name"`
	// Submitted is what was given to the system.
	Submitted any `json:"submitted"`
	// Expected and Seen are equal if the row holds.
	Expected    Facts    `json:"expected"`
	Seen        Facts    `json:"seen"`
	Differences []string `json:"differences,omitempty"`
	// Ran are the digests of what ran: images, profile, policy.
	Ran map[string]string `json:"ran,omitempty"`
	// Status is the run's own record: commands with their durations and what they
	// printed, egress, the cache's audit, timings.
	Status *v1alpha1.ZTRunStatus `json:"status,omitempty"`
}

// New starts a record and writes it to name.json when the test has ended, whatever
// its result.
func New(t testing.TB, name, criterion, claim string) *Record {
	t.Helper()
	r := &Record{Criterion: criterion, Claim: claim, Begun: time.Now().UTC(), Rows: []Row{}}
	t.Cleanup(func() {
		r.Held = !t.Failed() && len(r.Rows) > 0
		r.Seconds = time.Since(r.Begun).Seconds()
		if dir := os.Getenv(DirVariable); dir != "" {
			if err := r.write(filepath.Join(dir, name+".json")); err != nil {
				t.Errorf("write down the proof: %v", err)
			}
		}
	})
	return r
}

// Add compares a row, fails the test of each difference and keeps the row. It is safe
// for concurrent use.
func (r *Record) Add(t testing.TB, row Row) {
	t.Helper()
	row.Differences = Differences(row.Expected, row.Seen)
	for _, difference := range row.Differences {
		t.Errorf("%s: %s", row.Name, difference)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Rows = append(r.Rows, row)
}

// write sorts the rows, which parallel tests add in any order.
func (r *Record) write(path string) error {
	slices.SortFunc(r.Rows, func(a, b Row) int { return strings.Compare(a.Name, b.Name) })
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // shell commands are to be read
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}
