package npmrange

import (
	"cmp"
	"strconv"
)

// maxNumber is one below JavaScript's largest safe integer, node-semver's bound, so
// that the number after it is still within the bound.
const maxNumber = 1<<53 - 2

// Version is a release version.
type Version struct {
	Major, Minor, Patch int64
}

func (v Version) compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch))
}

// comparator is one bound. A prerelease of a version is just below it: no release
// version equals it, and the next release version above it is the version itself.
type comparator struct {
	operator   string // one of < <= > >= = and never, which admits nothing
	bound      Version
	prerelease bool
}

const never = "never"

func (c comparator) admits(v Version) bool {
	order := v.compare(c.bound)
	if order == 0 && c.prerelease {
		order = 1
	}
	switch c.operator {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	case "=":
		return order == 0
	}
	return false
}

// pattern is a version of which the last numbers may be left open.
type pattern struct {
	version    Version
	fixed      int // how many of the three numbers are given: 0 to 3
	prerelease bool
	// disordered is true if a number follows an open one, as in 20.x.1. Behind a
	// tilde, a caret or in a hyphen range node-semver ignores such a number; elsewhere
	// it refuses the range.
	disordered bool
}

func newPattern(groups []string) (pattern, error) {
	var p pattern
	numbers := []*int64{&p.version.Major, &p.version.Minor, &p.version.Patch}
	open := false
	for i, group := range groups[:3] {
		if isOpen(group) {
			open = true
			continue
		}
		if open {
			p.disordered = true
			continue
		}
		n, err := strconv.ParseInt(group, 10, 64)
		if err != nil || n > maxNumber {
			return pattern{}, ErrInvalid
		}
		*numbers[i], p.fixed = n, i+1
	}
	p.prerelease = p.fixed == 3 && groups[3] != ""
	return p, nil
}

func isOpen(group string) bool {
	return group == "" || group == "x" || group == "X" || group == "*"
}

// after returns the lowest version above all those that share the first n numbers.
func (p pattern) after(n int) Version {
	v := p.version
	switch n {
	case 1:
		return Version{Major: v.Major + 1}
	case 2:
		return Version{Major: v.Major, Minor: v.Minor + 1}
	}
	return Version{Major: v.Major, Minor: v.Minor, Patch: v.Patch + 1}
}

// between admits from the pattern up to what follows its first n numbers.
func (p pattern) between(n int) []comparator {
	return []comparator{
		{operator: ">=", bound: p.version, prerelease: p.prerelease},
		{operator: "<", bound: p.after(n), prerelease: true},
	}
}

// tildeRange keeps the minor number, if one is given.
func tildeRange(p pattern) []comparator {
	if p.fixed == 0 {
		return nil
	}
	return p.between(min(p.fixed, 2))
}

// caretRange keeps the first number that is not zero.
func caretRange(p pattern) []comparator {
	switch {
	case p.fixed == 0:
		return nil
	case p.version.Major > 0 || p.fixed == 1:
		return p.between(1)
	case p.version.Minor > 0 || p.fixed == 2:
		return p.between(2)
	}
	return p.between(3)
}

// plainRange applies an operator to a version that may be open at its end.
func plainRange(operator string, p pattern) []comparator {
	if p.fixed == 0 {
		if operator == "<" || operator == ">" {
			return []comparator{{operator: never}}
		}
		return nil
	}
	if operator == "" {
		operator = "="
	}
	if p.fixed == 3 {
		return []comparator{{operator: operator, bound: p.version, prerelease: p.prerelease}}
	}
	switch operator {
	case ">":
		return []comparator{{operator: ">=", bound: p.after(p.fixed)}}
	case "<=":
		return []comparator{{operator: "<", bound: p.after(p.fixed), prerelease: true}}
	case "<":
		return []comparator{{operator: "<", bound: p.version, prerelease: true}}
	case ">=":
		return []comparator{{operator: ">=", bound: p.version}}
	}
	return p.between(p.fixed)
}
