package proof

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// watched is a test that keeps what fails it.
type watched struct {
	testing.TB
	errors  []string
	cleanup []func()
}

func (w *watched) Helper()           {}
func (w *watched) Failed() bool      { return len(w.errors) > 0 }
func (w *watched) Cleanup(do func()) { w.cleanup = append(w.cleanup, do) }
func (w *watched) Errorf(format string, args ...any) {
	w.errors = append(w.errors, fmt.Sprintf(format, args...))
}

// written is the record that a test left in a folder of its own.
func written(t *testing.T, rows ...Row) (*watched, *Record) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "proof")
	t.Setenv(DirVariable, dir)
	w := &watched{}
	r := New(w, "ac0", "AC0", "it works")
	for _, row := range rows {
		r.Add(w, row)
	}
	for _, do := range w.cleanup {
		do()
	}
	text, err := os.ReadFile(filepath.Join(dir, "ac0.json"))
	if err != nil {
		t.Fatal(err)
	}
	got := &Record{}
	if err := json.Unmarshal(text, got); err != nil {
		t.Fatal(err)
	}
	return w, got
}

func TestARecordHoldsOnlyIfEveryRowDoes(t *testing.T) {
	good := Row{Name: "good", Expected: Facts{"suite": "passed"}, Seen: Facts{"suite": "passed"}}
	bad := Row{Name: "bad", Expected: Facts{"suite": "passed"}, Seen: Facts{"suite": "failed"}}
	for name, tc := range map[string]struct {
		rows []Row
		held bool
		said int
	}{
		"every row as expected":    {[]Row{good, good}, true, 0},
		"one row is different":     {[]Row{good, bad}, false, 1},
		"nothing was tried at all": {nil, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, got := written(t, tc.rows...)
			if got.Held != tc.held || len(w.errors) != tc.said {
				t.Errorf("held %v with errors %q", got.Held, w.errors)
			}
			if len(got.Rows) != len(tc.rows) {
				t.Errorf("%d rows are written down, want %d", len(got.Rows), len(tc.rows))
			}
		})
	}
}

func TestAFailureOutsideTheRowsIsWrittenDownToo(t *testing.T) {
	t.Setenv(DirVariable, t.TempDir())
	w := &watched{}
	New(w, "ac0", "AC0", "it works")
	w.Errorf("something is left behind")
	w.cleanup[0]()
	text, err := os.ReadFile(filepath.Join(os.Getenv(DirVariable), "ac0.json"))
	if err != nil || !strings.Contains(string(text), `"held": false`) {
		t.Errorf("%s (%v)", text, err)
	}
}

func TestWithoutAFolderNothingIsWritten(t *testing.T) {
	t.Setenv(DirVariable, "")
	t.Chdir(t.TempDir())
	w := &watched{}
	New(w, "ac0", "AC0", "it works").Add(w, Row{Name: "row"})
	w.cleanup[0]()
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
