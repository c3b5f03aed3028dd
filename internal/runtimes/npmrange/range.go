package npmrange

import (
	"errors"
	"strings"
	"unicode"
)

// maxLength bounds a range, in bytes. Real ones are far shorter; the bound keeps a
// hostile one cheap.
const maxLength = 1024

// ErrInvalid is the error of Parse.
var ErrInvalid = errors.New("not a node-semver range")

// Range is a parsed range: alternatives of comparators that must all hold.
type Range struct {
	alternatives [][]comparator
}

// Parse reads a range.
func Parse(s string) (Range, error) {
	if len(s) > maxLength {
		return Range{}, ErrInvalid
	}
	var r Range
	for _, clause := range strings.Split(collapse(s), "||") {
		comparators, err := parseClause(strings.TrimSpace(clause))
		if err != nil {
			return Range{}, err
		}
		r.alternatives = append(r.alternatives, comparators)
	}
	return r, nil
}

// Admits reports whether a release version satisfies the range.
func (r Range) Admits(v Version) bool {
	for _, comparators := range r.alternatives {
		if all(comparators, v) {
			return true
		}
	}
	return false
}

func all(comparators []comparator, v Version) bool {
	for _, c := range comparators {
		if !c.admits(v) {
			return false
		}
	}
	return true
}

// collapse trims, and turns each run of what JavaScript calls white space into one
// blank.
func collapse(s string) string {
	return strings.Join(strings.FieldsFunc(s, isSpace), " ")
}

func isSpace(r rune) bool {
	// JavaScript's \s has the byte order mark and lacks the next-line character.
	return r == '\ufeff' || unicode.IsSpace(r) && r != '\u0085'
}
