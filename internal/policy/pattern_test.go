package policy

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/registries"
)

func TestEveryShippedPatternIsInTheSharedSyntax(t *testing.T) {
	for _, registry := range registries.All() {
		for _, path := range registry.Paths {
			if _, err := compilePattern(path); err != nil {
				t.Errorf("%s: %q: %v", registry.Name, path, err)
			}
		}
	}
}

func TestPatternsOutsideTheSharedSyntaxAreRefused(t *testing.T) {
	for name, tc := range map[string]struct{ pattern, says string }{
		"no anchor at the start":           {`/a$`, "begin with ^/"},
		"no anchor at the end":             {`^/a`, "end with $"},
		"an escaped anchor at the end":     {`^/a\$`, "backslash"},
		"alternatives outside a group":     {`^/a|b$`, "outside a group"},
		"an empty alternative":             {`^/(a|)$`, "empty"},
		"an empty group":                   {`^/()$`, "empty"},
		"an unclosed group":                {`^/(a$`, "without its )"},
		"a group closed twice":             {`^/(a))$`, "without its ("},
		"a dot":                            {`^/a.b$`, "escape it"},
		"a caret inside":                   {`^/a^b$`, "escape it"},
		"a dollar inside":                  {`^/a$b$`, "escape it"},
		"a negated list":                   {`^/[^a]$`, "negated"},
		"a class in a list":                {`^/[[:alpha:]]$`, "differently"},
		"a backslash in a list":            {`^/[\.]$`, "differently"},
		"an empty list":                    {`^/[]$`, "empty list"},
		"an unclosed list":                 {`^/[a$`, "without its ]"},
		"a range across kinds":             {`^/[A-z]$`, "range"},
		"a range that counts down":         {`^/[z-a]$`, "range"},
		"a range of punctuation":           {`^/[+-.]$`, "range"},
		"a hyphen in the middle of a list": {`^/[a-c-e]$`, "hyphen"},
		"a lazy quantifier":                {`^/a+?$`, "two quantifiers"},
		"a double quantifier":              {`^/a**$`, "two quantifiers"},
		"a double interval":                {`^/a{2}{2}$`, "two quantifiers"},
		"a quantifier with nothing before": {`^/(*a)$`, "escape it"},
		"an open interval from nothing":    {`^/a{,3}$`, "interval"},
		"an interval to zero":              {`^/a{0}$`, "interval"},
		"an interval that counts down":     {`^/a{3,2}$`, "interval"},
		"an interval over RE_DUP_MAX":      {`^/a{256}$`, "interval"},
		"a back-reference":                 {`^/(a)\1$`, "backslash"},
		"a Perl class":                     {`^/\d$`, "backslash"},
		"a word boundary":                  {`^/\ba$`, "backslash"},
		"a flag group":                     {`^/(?i)a$`, "escape it"},
		"a quote, which squid.conf reads":  {`^/"a$`, "not admitted"},
		"a hash, which squid.conf reads":   {`^/#a$`, "not admitted"},
		"a macro of squid.conf":            {`^/[${process_name}]$`, "not admitted"},
		"a space":                          {`^/a b$`, "not admitted"},
		"a line end":                       {"^/a\nhttp_access allow all$", "not admitted"},
		"a letter beyond ASCII":            {`^/é$`, "not admitted"},
		"repetitions that multiply":        {`^/((a{200}){200}){200}$`, "written out"},
		"deep nesting":                     {`^/` + strings.Repeat("(", 9) + "a" + strings.Repeat(")", 9) + `$`, "deeper"},
		"a long pattern":                   {`^/` + strings.Repeat("a", 512) + `$`, "bytes long"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := compilePattern(tc.pattern)
			if err == nil {
				t.Fatalf("%q is admitted", tc.pattern)
			}
			if !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%q: %v, want a message about %q", tc.pattern, err, tc.says)
			}
		})
	}
}

func TestPatternsInTheSharedSyntaxCompile(t *testing.T) {
	for name, pattern := range map[string]string{
		"escaped punctuation":            `^/\.\*\+\?\(\)\[\]\{\}\|\^\$\\$`,
		"a list with a hyphen first":     `^/[-a]$`,
		"a list with a hyphen last":      `^/[a-c_+!-]$`,
		"quantifier signs in a list":     `^/[.*+?()|]$`,
		"intervals":                      `^/a{2}b{2,}c{2,3}$`,
		"nested groups and alternatives": `^/((a|b)+|c(d|e)?)*$`,
		"a percent sign":                 `^/%41$`,
		"only the root":                  `^/$`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := compilePattern(pattern); err != nil {
				t.Errorf("%q: %v", pattern, err)
			}
		})
	}
}

func FuzzCompilePattern(f *testing.F) {
	f.Add(`^/(@[a-z0-9][a-z0-9._~-]*/)?[A-Za-z0-9]{2,3}\.tgz$`)
	f.Add(`^/[[:alpha:]](a|)*$`)
	f.Fuzz(func(t *testing.T, pattern string) {
		compiled, err := compilePattern(pattern)
		if err != nil {
			return
		}
		if strings.ContainsAny(pattern, " \t\r\n\"'#") || strings.Contains(pattern, "${") {
			t.Errorf("%q would not be one word of squid.conf", pattern)
		}
		// Go's own POSIX mode refuses what only Perl's syntax has. It also takes line
		// ends for ends of text, which neither RE2 nor Squid does, so no path has one.
		posix, err := regexp.CompilePOSIX(pattern)
		if err != nil {
			t.Fatalf("%q is not a POSIX expression: %v", pattern, err)
		}
		for _, path := range []string{"/", "/a", "/a/b", "x/a", "/@a/b"} {
			if compiled.MatchString(path) != posix.MatchString(path) {
				t.Errorf("%q matches %q in one syntax only", pattern, path)
			}
			if compiled.MatchString(path) && !strings.HasPrefix(path, "/") {
				t.Errorf("%q matches %q: not anchored", pattern, path)
			}
		}
	})
}
