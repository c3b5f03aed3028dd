package refusal

import (
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

func TestSubjectKeepsIdentifiers(t *testing.T) {
	for _, s := range []string{
		"package.json", "engines.node", "@scope/name", "JSONStream", ".npmrc", "node_modules/a/node_modules/@s/b",
		strings.Repeat("z", MaxSubject), "babel-plugin-transform-react-remove-prop-types", "Base/suite",
		"typescript-eslint-utils-experimental-7",
	} {
		if got := Subject(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func TestSubjectDropsTheRest(t *testing.T) {
	cases := map[string]string{
		"nothing":                     "",
		"a long name":                 strings.Repeat("z", MaxSubject+1),
		"a URL":                       "https://example.com/x",
		"a URL without its scheme":    "//example.com/x",
		"credentials":                 "user:secret@example.com",
		"a newline":                   "a\nb",
		"an escape sequence":          "a\x1b[31m",
		"a bidirectional override":    "a\u202eb",
		"a zero-width space":          "a\u200bb",
		"a look-alike letter":         "p\u0430ckage",
		"invalid UTF-8":               "a\xff",
		"a blank":                     "two words",
		"shell":                       "$(id)",
		"an npm token":                "npm_" + strings.Repeat("a1", 18),
		"a GitHub token":              "ghp_" + strings.Repeat("a1", 18),
		"a fine-grained GitHub token": "github_pat_" + strings.Repeat("a1", 20),
		"a GitLab token":              "glpat-" + strings.Repeat("a1", 10),
		"an AWS key":                  "AKIAIOSFODNN7EXAMPLE",
		"a Slack token":               "xoxb-123456789012-abcdef",
		"a PyPI token":                "pypi-" + strings.Repeat("Ag", 25),
		"a key of an AI service":      "sk-" + strings.Repeat("a1", 15),
		"a JSON web token":            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x",
		"a hex secret":                strings.Repeat("0af9", 10),
		"a secret within a path":      "config/" + strings.Repeat("0af9", 10),
		"a base64 secret":             "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY1",
	}
	for name, s := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Subject(s); got != "" {
				t.Errorf("%q was kept", got)
			}
		})
	}
}

func TestErrorReadsWithAndWithoutASubject(t *testing.T) {
	if got := New(v1alpha1.DetailMissingHash, "ms", "no hash").Error(); got != "missing_hash (ms): no hash" {
		t.Error(got)
	}
	if got := New(v1alpha1.DetailMissingHash, "a b", "no hash").Error(); got != "missing_hash: no hash" {
		t.Error(got)
	}
}

func FuzzSubject(f *testing.F) {
	f.Add("package.json")
	f.Add("a\x00b")
	f.Fuzz(func(t *testing.T, s string) {
		got := Subject(s)
		if got != "" && got != s {
			t.Fatalf("%q became %q", s, got)
		}
		if len(got) > MaxSubject || strings.ContainsFunc(got, func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Fatalf("%q was kept", got)
		}
	})
}
