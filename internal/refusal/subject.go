package refusal

import (
	"regexp"
	"strings"
)

// MaxSubject bounds a subject, in characters: the longest package name npm admits.
const MaxSubject = 214

var narrow = regexp.MustCompile(`^[A-Za-z0-9@._/\[\]+-]{1,214}$`)

// Subject returns s if it is a bounded identifier from a narrow alphabet that does
// not look like a secret, else "". It never shortens or rewrites: half a name
// would point at something else.
func Subject(s string) string {
	if !narrow.MatchString(s) || strings.Contains(s, "//") || looksSecret(s) {
		return ""
	}
	return s
}

// Shapes of well-known tokens, and of long random strings.
var secretShapes = []*regexp.Regexp{
	regexp.MustCompile(`(?i)npm_[a-z0-9]{30,}`),
	regexp.MustCompile(`gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{20,}`),
	regexp.MustCompile(`glpat-[A-Za-z0-9_-]{16,}`),
	regexp.MustCompile(`(?:AKIA|ASIA)[A-Z0-9]{16}`),
	regexp.MustCompile(`xox[abeoprs]-[A-Za-z0-9-]{10,}`),
	regexp.MustCompile(`pypi-[A-Za-z0-9_-]{40,}`),
	regexp.MustCompile(`sk-[A-Za-z0-9_-]{20,}`),
	regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.`),
	regexp.MustCompile(`AIza[A-Za-z0-9_-]{35}`),
	regexp.MustCompile(`[0-9a-fA-F]{32,}`),
}

func looksSecret(s string) bool {
	for _, shape := range secretShapes {
		if shape.MatchString(s) {
			return true
		}
	}
	return longMixedRun(s)
}

// longMixedRun reports an unbroken run of at least 32 letters and digits that
// mixes upper case, lower case and digits: a key in base64, not a name.
func longMixedRun(s string) bool {
	for _, run := range strings.FieldsFunc(s, func(r rune) bool { return !isAlphanumeric(r) }) {
		if len(run) < 32 {
			continue
		}
		if strings.ContainsAny(run, "0123456789") && strings.ToLower(run) != run && strings.ToUpper(run) != run {
			return true
		}
	}
	return false
}

func isAlphanumeric(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}
