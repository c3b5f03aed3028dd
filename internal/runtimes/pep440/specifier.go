package pep440

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Version is a release, X, X.Y or X.Y.Z; missing numbers count as zero.
type Version [3]int64

// Specifier is a set of clauses, all of which have to hold.
type Specifier struct{ clauses []clause }

type clause struct {
	operator string
	version  Version
	// given is how many numbers the clause has.
	given    int
	wildcard bool
}

const (
	maxLength  = 256
	maxClauses = 16
)

var (
	errInvalid = errors.New("it is not a version specifier of the supported subset")
	// Nine digits a number: far above any release, far below an overflow.
	shape = regexp.MustCompile(`^(==|!=|<=|>=|<|>|~=)[ \t]*` +
		`(0|[1-9][0-9]{0,8})(?:\.(0|[1-9][0-9]{0,8}))?(?:\.(0|[1-9][0-9]{0,8}))?(\.\*)?$`)
)

// Parse reads a specifier such as >=3.11,<4.
func Parse(s string) (Specifier, error) {
	if len(s) > maxLength || strings.Count(s, ",") >= maxClauses {
		return Specifier{}, errInvalid
	}
	var all Specifier
	for part := range strings.SplitSeq(s, ",") {
		c, err := parseClause(strings.Trim(part, " \t"))
		if err != nil {
			return Specifier{}, err
		}
		all.clauses = append(all.clauses, c)
	}
	return all, nil
}

func parseClause(s string) (clause, error) {
	m := shape.FindStringSubmatch(s)
	if m == nil {
		return clause{}, errInvalid
	}
	c := clause{operator: m[1], wildcard: m[5] != ""}
	for i, digits := range m[2:5] {
		if digits == "" {
			break
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return clause{}, errInvalid
		}
		c.version[i], c.given = n, i+1
	}
	switch {
	case c.wildcard && c.operator != "==" && c.operator != "!=",
		// ~= compares with all numbers but the last, so it needs two.
		c.operator == "~=" && c.given < 2:
		return clause{}, errInvalid
	}
	return c, nil
}

// Admits reports whether every clause holds for the version.
func (s Specifier) Admits(v Version) bool {
	return !slices.ContainsFunc(s.clauses, func(c clause) bool { return !c.admits(v) })
}

func (c clause) admits(v Version) bool {
	order := slices.Compare(v[:], c.version[:])
	switch c.operator {
	case "==":
		return c.equal(v)
	case "!=":
		return !c.equal(v)
	case "<=":
		return order <= 0
	case ">=":
		return order >= 0
	case "<":
		return order < 0
	case ">":
		return order > 0
	default: // ~=
		return order >= 0 && c.starts(v, c.given-1)
	}
}

func (c clause) equal(v Version) bool {
	return v == c.version || c.wildcard && c.starts(v, c.given)
}

// starts reports whether the first n numbers are those of the clause.
func (c clause) starts(v Version, n int) bool {
	return slices.Equal(v[:n], c.version[:n])
}
