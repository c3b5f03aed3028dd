package policy

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Bounds of a compiled pattern. Repetitions multiply: what is bounded is the size
// after they are written out, as both regular expression engines do.
const (
	maxPatternNodes  = 4096
	maxPatternRepeat = 255 // RE_DUP_MAX of POSIX
	maxPatternDepth  = 8
)

// compilePattern compiles a path pattern after checking that RE2 and POSIX
// extended expressions read it alike: anchored at both ends, and inside only
// literals, escaped punctuation, positive bracket lists, groups, alternatives in
// groups and single quantifiers.
//
// Left out because the two differ or because nobody would see the width: the dot
// (newlines), negated lists, classes, back-references, lazy and double
// quantifiers, backslashes in lists, empty groups and alternatives.
func compilePattern(text string) (*regexp.Regexp, error) {
	if len(text) > MaxPatternLength {
		return nil, fmt.Errorf("%d bytes long, at most %d are admitted", len(text), MaxPatternLength)
	}
	if !strings.HasPrefix(text, "^/") || !strings.HasSuffix(text, "$") {
		return nil, errors.New("must begin with ^/ and end with $")
	}
	p := patternParser{text: text[1 : len(text)-1]}
	nodes, err := p.sequence(0)
	if err != nil {
		return nil, fmt.Errorf("at character %d: %w", p.at+2, err)
	}
	if nodes > maxPatternNodes {
		return nil, fmt.Errorf("%d characters with repetitions written out, at most %d are admitted", nodes, maxPatternNodes)
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	return compiled, nil
}

type patternParser struct {
	text string
	at   int
}

func (p *patternParser) more() bool { return p.at < len(p.text) }

// sequence parses quantified atoms up to the end, a | or a ) and returns how many
// nodes they are, written out.
func (p *patternParser) sequence(depth int) (int, error) {
	total, start := 0, p.at
	for p.more() && p.text[p.at] != '|' && p.text[p.at] != ')' {
		size, err := p.atom(depth)
		if err != nil {
			return 0, err
		}
		times, err := p.quantifier()
		if err != nil {
			return 0, err
		}
		total += size * times
		if total > maxPatternNodes {
			return 0, fmt.Errorf("more than %d characters with repetitions written out", maxPatternNodes)
		}
	}
	if p.at == start {
		return 0, errors.New("an empty expression")
	}
	if depth == 0 && p.more() {
		if p.text[p.at] == '|' {
			return 0, errors.New("alternatives outside a group escape the anchors")
		}
		return 0, errors.New("a ) without its (")
	}
	return total, nil
}

func (p *patternParser) atom(depth int) (int, error) {
	switch c := p.text[p.at]; {
	case c == '(':
		return p.group(depth + 1)
	case c == '[':
		return 1, p.list()
	case c == '\\':
		return 1, p.escape()
	case strings.IndexByte(".*+?{}]^$", c) >= 0:
		return 0, fmt.Errorf("%q is special here; escape it with a backslash", c)
	case !literal(c):
		return 0, fmt.Errorf("%q is not admitted in a pattern", c)
	default:
		p.at++
		return 1, nil
	}
}

func (p *patternParser) group(depth int) (int, error) {
	if depth > maxPatternDepth {
		return 0, fmt.Errorf("groups nest deeper than %d", maxPatternDepth)
	}
	total := 0
	for {
		p.at++ // ( or |
		size, err := p.sequence(depth)
		if err != nil {
			return 0, err
		}
		total += size
		if !p.more() {
			return 0, errors.New("a ( without its )")
		}
		if p.text[p.at] == ')' {
			p.at++
			return total, nil
		}
	}
}

func (p *patternParser) escape() error {
	if p.at+1 >= len(p.text) || strings.IndexByte(`.*+?()[]{}|^$\`, p.text[p.at+1]) < 0 {
		return errors.New("a backslash may only precede punctuation that is special")
	}
	p.at += 2
	return nil
}

// list parses a bracket list of letters, digits, punctuation and ranges of one
// kind of letter or digit. A hyphen is literal first or last.
func (p *patternParser) list() error {
	p.at++
	start := p.at
	for p.more() && p.text[p.at] != ']' {
		c := p.text[p.at]
		if err := listMember(c, p.at == start); err != nil {
			return err
		}
		last := p.at+1 < len(p.text) && p.text[p.at+1] == ']'
		if c == '-' && p.at != start && !last {
			return errors.New("a hyphen in a list is admitted first, last or between the ends of a range")
		}
		if c != '-' && p.at+2 < len(p.text) && p.text[p.at+1] == '-' && p.text[p.at+2] != ']' {
			if kind(c) == 0 || kind(c) != kind(p.text[p.at+2]) || c > p.text[p.at+2] {
				return errors.New("a range is between two digits, two small or two capital letters, in order")
			}
			p.at += 2
		}
		p.at++
	}
	if !p.more() {
		return errors.New("a [ without its ]")
	}
	if p.at == start {
		return errors.New("an empty list")
	}
	p.at++
	return nil
}

func listMember(c byte, first bool) error {
	switch {
	case c == '^' && first:
		return errors.New("a negated list admits what nobody named")
	case c == '[' || c == '\\':
		return fmt.Errorf("%q in a list is read differently by the two engines", c)
	case !literal(c) && strings.IndexByte(".*+?()|", c) < 0:
		return fmt.Errorf("%q is not admitted in a list", c)
	}
	return nil
}

// literal reports whether c stands for itself in a pattern and in squid.conf:
// quotes, # and $ would not.
func literal(c byte) bool {
	return kind(c) != 0 || strings.IndexByte("/-_~@!=:;,%&", c) >= 0
}

func kind(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return '0'
	case c >= 'a' && c <= 'z':
		return 'a'
	case c >= 'A' && c <= 'Z':
		return 'A'
	}
	return 0
}

var interval = regexp.MustCompile(`^\{([0-9]{1,3})(,([0-9]{1,3})?)?\}`)

// quantifier parses at most one quantifier and returns how often the atom before
// it is written out.
func (p *patternParser) quantifier() (int, error) {
	times := 1
	switch {
	case !p.more():
		return times, nil
	case strings.IndexByte("*+?", p.text[p.at]) >= 0:
		p.at++
	case p.text[p.at] == '{':
		match := interval.FindStringSubmatch(p.text[p.at:])
		if match == nil {
			return 0, errors.New("an interval is {n}, {n,} or {n,m}")
		}
		low, high := number(match[1]), number(match[1])
		if match[3] != "" {
			high = number(match[3])
		}
		if high < low || high > maxPatternRepeat || high == 0 {
			return 0, fmt.Errorf("an interval counts upwards, from 0 to at most %d and not to 0", maxPatternRepeat)
		}
		p.at += len(match[0])
		times = high
	default:
		return times, nil
	}
	if p.more() && strings.IndexByte("*+?{", p.text[p.at]) >= 0 {
		return 0, errors.New("two quantifiers in a row are read differently by the two engines")
	}
	return times, nil
}

func number(digits string) int {
	n := 0
	for _, d := range digits {
		n = n*10 + int(d-'0')
	}
	return n
}
