package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"other.md":  "# What `it` is, really\n\n```\n## not a heading\n```\n",
		"a_test.go": "package a\n\nfunc TestHolds(t *testing.T) {}\n\n// TestMentioned is only spoken of.\nconst limit = 5\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct{ page, want string }{
		"a file that exists":                      {"see [this](other.md)", ""},
		"a folder that exists":                    {"see [this](.)", ""},
		"a file that does not":                    {"see\n[this](gone.md)", "line 2: gone.md does not exist"},
		"a page of another site is not asked for": {"[this](https://example.org/gone)", ""},
		"a heading that exists":                   {"[this](other.md#what-it-is-really)", ""},
		"a heading that does not":                 {"[this](other.md#what-it-was)", "no such heading"},
		"a heading that is only an example":       {"[this](other.md#not-a-heading)", "no such heading"},
		"a heading of the page itself":            {"# Top\n[this](#top)", ""},
		"a test that exists":                      {"[`TestHolds`](a_test.go)", ""},
		"a test that was renamed":                 {"[`TestHeld`](a_test.go)", "TestHeld is not in a_test.go"},
		"a test whose name is the start of one":   {"[`TestHold`](a_test.go)", "TestHold is not in a_test.go"},
		"a test that is only spoken of":           {"[`TestMentioned`](a_test.go)", "TestMentioned is not in a_test.go"},
		"a name that exists":                      {"[`limit`](a_test.go)", ""},
		"a name that does not":                    {"[`lim`](a_test.go)", "lim is not in a_test.go"},
		"the second link of a line":               {"[a](other.md), [b](gone.md)", "gone.md does not exist"},
		"fenced code has no links":                {"```\n[this](gone.md)\n```\n", ""},
		"a link after fenced code is looked at":   {"```\nx\n```\n[this](gone.md)", "line 4: gone.md"},
		"a test in a table":                       {"| it holds | [`TestHeld`](a_test.go) |", "TestHeld is not in a_test.go"},
	} {
		t.Run(name, func(t *testing.T) {
			page := filepath.Join(dir, "page.md")
			if err := os.WriteFile(page, []byte(tc.page), 0o600); err != nil {
				t.Fatal(err)
			}
			problems, err := check(page)
			got := strings.Join(problems, "\n")
			if err != nil || (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%q, %v, want %q", got, err, tc.want)
			}
		})
	}
}

func TestAPageThatIsNotThereIsAnError(t *testing.T) {
	if _, err := check(filepath.Join(t.TempDir(), "gone.md")); err == nil {
		t.Error("no error")
	}
}
