package verdict

import (
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/junit"
)

// cases reads "+a -b ~c !d.js ?e.js": passed, failed, skipped, a file that failed and
// one that ran no test.
func cases(text string) []junit.Case {
	var all []junit.Case
	for word := range strings.FieldsSeq(text) {
		c := junit.Case{ID: word[1:], Name: word[1:], Status: junit.Failed}
		switch word[0] {
		case '+':
			c.Status = junit.Passed
		case '~':
			c.Status = junit.Skipped
		case '!':
			c.WholeFile = true
		case '?':
			c.WholeFile, c.Status = true, junit.Skipped
		}
		all = append(all, c)
	}
	return all
}

func list(names *v1alpha1.TestNames) string {
	if names == nil {
		return ""
	}
	return strings.Join(names.Names, " ")
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name, trusted, candidate  string
		expected, passed          int32
		missing, failing, skipped string
	}{
		{"every test still passes", "+a +b", "+a +b", 2, 2, "", "", ""},
		{"a new test, however it ends, is no matter here", "+a", "+a +b ~c", 1, 1, "", "", ""},
		{"a regression test now passes", "-a +b", "+a +b", 2, 2, "", "", ""},
		{"a test is gone", "+a +b", "+a", 2, 1, "b", "", ""},
		{"a test was renamed", "+a", "+b", 1, 0, "a", "", ""},
		{"a test fails", "+a +b", "+a -b", 2, 1, "", "b", ""},
		{"a test is skipped", "+a +b", "+a ~b", 2, 1, "", "", "b"},
		{"what was skipped before may be", "+a ~b", "+a ~b", 1, 1, "", "", ""},
		{"what was skipped before may be gone", "+a ~b", "+a", 1, 1, "", "", ""},
		{"two of one name must pass twice", "+a +a", "+a", 2, 1, "a", "", ""},
		{"one of two is skipped", "+a +a", "+a ~a", 2, 1, "", "", "a"},
		{"a file that could not be loaded is no test", "!f.js", "+a +b", 0, 0, "", "", ""},
		{"no test of such a file may be skipped", "!f.js", "+a ~b", 0, 0, "", "", "b"},
		{"unless it was skipped before", "!f.js ~b", "+a ~b", 0, 0, "", "", ""},
		{"a skipped test is named once", "!f.js -a", "~a +b", 1, 0, "", "", "a"},
		{"a file of tests runs none, and another has tests of its names", "+a", "+a ?/workspace/test/a.test.js", 1, 1, "", "", "/workspace/test/a.test.js"},
		{"a helper never ran tests", "+a ?test/helper.js", "+a ?test/helper.js", 1, 1, "", "", ""},
		{"a new helper judges nothing", "+a", "+a ?test/new.js", 1, 1, "", "", ""},
		{"a file is no stand-in for a test", "+f.js", "!f.js", 1, 0, "f.js", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Compare("Base/suite", cases(c.trusted), cases(c.candidate), []string{"test/a.test.js", "test/helper.js"})
			if got.Expected != c.expected || got.Passed != c.passed ||
				list(got.Missing) != c.missing || list(got.Failing) != c.failing || list(got.Skipped) != c.skipped {
				t.Errorf("got %+v: missing %q, failing %q, skipped %q", got, list(got.Missing), list(got.Failing), list(got.Skipped))
			}
		})
	}
}

func TestCompareNamesAFewAndCountsAll(t *testing.T) {
	many := strings.Repeat("+a\x1b[31m ", 30)
	got := Compare("Base/suite", cases(many), nil, nil)
	if got.Missing.Count != 30 || len(got.Missing.Names) != maxNames || strings.Contains(list(got.Missing), "\x1b") {
		t.Errorf("got %+v", got.Missing)
	}
}
