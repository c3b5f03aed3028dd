package npmrange

import (
	"regexp"
	"strings"
)

const (
	number     = `0|[1-9][0-9]*`
	part       = `(` + number + `|x|X|\*)`
	identifier = `(?:[0-9]*[A-Za-z-][0-9A-Za-z-]*|` + number + `)`
	prerelease = `(?:-(` + identifier + `(?:\.` + identifier + `)*))?`
	// partial has four groups: major, minor, patch, prerelease.
	partial = `[v= ]*` + part + `(?:\.` + part + `(?:\.` + part + prerelease + `)?)?`
)

var (
	build       = regexp.MustCompile(`\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*`)
	hyphenRange = regexp.MustCompile(`^` + partial + ` +- +` + partial + `$`)
	// A blank between an operator and its version belongs to neither.
	afterOperator = regexp.MustCompile(`(<=|>=|<|>|=) +([v=]*[0-9xX*])`)
	afterTilde    = regexp.MustCompile(`~>? +`)
	afterCaret    = regexp.MustCompile(`\^ +`)

	tilde = regexp.MustCompile(`^~>?` + partial + `$`)
	caret = regexp.MustCompile(`^\^` + partial + `$`)
	plain = regexp.MustCompile(`^([<>]?=?)` + partial + `$`)
)

// parseClause reads one alternative: a hyphen range, or comparators side by side.
// An empty clause admits everything.
func parseClause(clause string) ([]comparator, error) {
	clause = build.ReplaceAllString(clause, "")
	if m := hyphenRange.FindStringSubmatch(clause); m != nil {
		return hyphen(m[1:5], m[5:9])
	}
	clause = afterOperator.ReplaceAllString(clause, "$1$2")
	clause = afterTilde.ReplaceAllString(clause, "~")
	clause = afterCaret.ReplaceAllString(clause, "^")
	var comparators []comparator
	for _, word := range strings.Fields(clause) {
		parsed, err := parseComparator(word)
		if err != nil {
			return nil, err
		}
		comparators = append(comparators, parsed...)
	}
	return comparators, nil
}

func parseComparator(word string) ([]comparator, error) {
	if m := caret.FindStringSubmatch(word); m != nil {
		return withVersion(m[1:], caretRange)
	}
	if m := tilde.FindStringSubmatch(word); m != nil {
		return withVersion(m[1:], tildeRange)
	}
	if m := plain.FindStringSubmatch(word); m != nil {
		p, err := newPattern(m[2:])
		if err != nil || p.disordered {
			return nil, ErrInvalid
		}
		return plainRange(m[1], p), nil
	}
	return nil, ErrInvalid
}

func withVersion(groups []string, expand func(pattern) []comparator) ([]comparator, error) {
	p, err := newPattern(groups)
	if err != nil {
		return nil, err
	}
	return expand(p), nil
}

func hyphen(from, to []string) ([]comparator, error) {
	low, err := newPattern(from)
	if err != nil {
		return nil, err
	}
	high, err := newPattern(to)
	if err != nil {
		return nil, err
	}
	return append(plainRange(">=", low), plainRange("<=", high)...), nil
}
