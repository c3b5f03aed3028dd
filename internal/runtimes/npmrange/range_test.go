package npmrange

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
)

// table holds the answers of node-semver itself; testdata/generate.js made it.
type table struct {
	Semver   string
	Versions []string
	// Rows are range and answer: one digit per version, or "-" if node-semver
	// refuses the range.
	Rows [][2]string
}

func TestAgreesWithNodeSemver(t *testing.T) {
	raw, err := os.ReadFile("testdata/node-semver.json")
	if err != nil {
		t.Fatal(err)
	}
	var want table
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	if len(want.Rows) < 1000 {
		t.Fatalf("the table has only %d rows", len(want.Rows))
	}
	for _, row := range want.Rows {
		if got := answer(row[0], want.Versions); got != row[1] {
			t.Errorf("%q: got %s, node-semver %s says %s", row[0], got, want.Semver, row[1])
		}
	}
}

func answer(text string, versions []string) string {
	r, err := Parse(text)
	if err != nil {
		return "-"
	}
	var b strings.Builder
	for _, v := range versions {
		if r.Admits(parseVersion(v)) {
			b.WriteByte('1')
		} else {
			b.WriteByte('0')
		}
	}
	return b.String()
}

func parseVersion(s string) Version {
	var n [3]int64
	for i, part := range strings.Split(s, ".") {
		n[i], _ = strconv.ParseInt(part, 10, 64)
	}
	return Version{n[0], n[1], n[2]}
}

func TestRefusesWhatNodeSemverRepairs(t *testing.T) {
	for _, text := range []string{"1.2.3*", "<=*1.2.3"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestRefusesAnOverlongRange(t *testing.T) {
	if _, err := Parse(strings.Repeat("20 || ", maxLength/6+1) + ">=20"); err == nil {
		t.Error("a range above the bound was accepted")
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", ">=20", "^20.1.x || 18 - 22", "~> 1", "<0.0.0-0", "20.x.1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		// A repeated or alternative copy of a range admits the same.
		twice, err := Parse(text + "||" + text)
		if err != nil && len(text)*2+2 <= maxLength {
			t.Fatalf("%q parses, its union with itself does not", text)
		}
		for _, v := range []Version{{0, 0, 0}, {1, 2, 3}, {20, 11, 1}, {22, 0, 0}} {
			if err == nil && r.Admits(v) != twice.Admits(v) {
				t.Fatalf("%q and its union with itself differ on %v", text, v)
			}
		}
	})
}
