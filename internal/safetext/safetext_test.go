package safetext

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	for name, tc := range map[string]struct {
		text  string
		limit int
		want  string
	}{
		"plain text stays":                 {"npm ci failed", 64, "npm ci failed"},
		"newlines and tabs become spaces":  {"a\nb\tc", 64, "a b c"},
		"terminal escapes become visible":  {"\x1b[31mred", 64, `\u001b[31mred`},
		"bidi overrides become visible":    {"a\u202eb", 64, `a\u202eb`},
		"zero-width characters are shown":  {"a\u200bb", 64, `a\u200bb`},
		"invalid bytes become visible":     {"a\xffb", 64, `a\xffb`},
		"long text is cut and marked":      {"abcdefghij", 8, "abcde…"},
		"a cut never splits a character":   {"aéééé", 7, "aé…"},
		"letters of other scripts survive": {"naïve 測試", 64, "naïve 測試"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Line(tc.text, tc.limit); got != tc.want {
				t.Errorf("Line(%q, %d) = %q, want %q", tc.text, tc.limit, got, tc.want)
			}
		})
	}
}

func TestTail(t *testing.T) {
	for name, tc := range map[string]struct {
		output string
		limit  int
		want   string
	}{
		"short output stays, newlines too":     {"one\ntwo\n", 64, "one\ntwo"},
		"only the end of long output is kept":  {"0123456789", 6, "…789"},
		"carriage returns become visible":      {"10%\r20%", 64, `10%\u000d20%`},
		"expansion by escapes stays in bounds": {strings.Repeat("\x00", 10), 10, `…0\u0000`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Tail([]byte(tc.output), tc.limit); got != tc.want {
				t.Errorf("Tail(%q, %d) = %q, want %q", tc.output, tc.limit, got, tc.want)
			}
		})
	}
}

func FuzzTail(f *testing.F) {
	f.Add([]byte("a\x1b[0m\xff\u202e"), 12)
	f.Fuzz(func(t *testing.T, output []byte, limit int) {
		limit = 8 + (limit&0x7fffffff)%4096
		got := Tail(output, limit)
		if len(got) > limit {
			t.Errorf("%d bytes, limit %d", len(got), limit)
		}
		if !utf8.ValidString(got) {
			t.Errorf("not UTF-8: %q", got)
		}
		if strings.ContainsAny(got, "\x1b\r\x00") {
			t.Errorf("control character in %q", got)
		}
	})
}
