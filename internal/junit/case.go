package junit

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Status is how one test ended.
type Status string

// The statuses. A test that is to do, or expected to fail, is skipped whatever it
// did: it is no pass.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// Case is one test of a report.
type Case struct {
	// ID is the path of the test's file if the report tells it, the names of the suites
	// around the test, its class and its own name, joined; at most MaxID bytes, else cut
	// and marked with a hash of the whole. Tests may share an ID.
	ID string
	// Name is the test's own name, bounded likewise.
	Name string
	// Status of the test.
	Status Status
	// WholeFile is true if the case stands for a file that could not be loaded or ran
	// no test, or for what a failed hook kept from running, rather than for a test.
	WholeFile bool
}

const (
	// MaxCases bounds the tests of a report.
	MaxCases = 10_000
	// MaxID bounds the id of a test, in bytes.
	MaxID = 512

	joint = " > "
)

// Digest is the SHA-256 over the cases, independent of their order.
func Digest(cases []Case) string {
	lines := make([]string, len(cases))
	for i, c := range cases {
		lines[i] = string(c.Status) + " " + c.ID
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\x00")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// bounded shortens what is too long to its beginning and a hash of the whole.
func bounded(id string) string {
	if len(id) <= MaxID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	mark := "…#" + hex.EncodeToString(sum[:16])
	return strings.ToValidUTF8(id[:MaxID-len(mark)], "") + mark
}

// idOf joins the names around a test. Node gives every test the class "test" or, since
// version 24, the suite around it.
func idOf(file string, suites []string, class, name string) string {
	var parts []string
	for _, part := range append([]string{file}, suites...) {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if class != "" && class != "test" && !slices.Contains(suites, class) {
		parts = append(parts, class)
	}
	return bounded(strings.Join(append(parts, name), joint))
}
