package pypi

import (
	"regexp"
	"strings"
)

// MaxName bounds a project's name, in characters.
const MaxName = 214

var (
	name       = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	separators = regexp.MustCompile(`[-_.]+`)
)

// NormalName returns a project's name in the form in which equal names are equal
// (PEP 503), or "" if it is none.
func NormalName(s string) string {
	if len(s) > MaxName || !name.MatchString(s) {
		return ""
	}
	return strings.ToLower(separators.ReplaceAllString(s, "-"))
}
