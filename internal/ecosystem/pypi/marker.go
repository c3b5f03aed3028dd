package pypi

import (
	"errors"
	"regexp"
	"strings"

	"github.com/ai-dossier/zt-operator/internal/runtimes/pep440"
)

// ErrMarker: a marker is not valid, or not of the subset that is judged here.
var ErrMarker = errors.New("it is not an environment marker of the supported subset")

// Bounds of one marker.
const (
	maxMarker      = 4096
	maxMarkerDepth = 16
)

// Marker is an environment marker (PEP 508) that was understood.
type Marker struct{ root node }

// node is a part of a marker.
type node func(Environment) bool

// Holds reports whether the marker holds in the environment. The zero Marker does.
func (m Marker) Holds(e Environment) bool { return m.root == nil || m.root(e) }

// ParseMarker reads a marker such as python_version < "3.12" and sys_platform ==
// 'linux'. Its error is ErrMarker.
func ParseMarker(s string) (Marker, error) {
	if len(s) > maxMarker {
		return Marker{}, ErrMarker
	}
	tokens, err := markerTokens(s)
	if err != nil {
		return Marker{}, err
	}
	p := &markerParser{tokens: tokens}
	root, err := p.or(0)
	if err != nil || len(p.tokens) > 0 {
		return Marker{}, ErrMarker
	}
	return Marker{root}, nil
}

var markerToken = regexp.MustCompile(`^(?:[ \t]+|not in|[a-z_]+|"[^"]*"|'[^']*'|\(|\)|===|==|!=|<=|>=|~=|<|>)`)

func markerTokens(s string) ([]string, error) {
	var tokens []string
	for s != "" {
		token := markerToken.FindString(s)
		if token == "" {
			return nil, ErrMarker
		}
		s = s[len(token):]
		if strings.Trim(token, " \t") != "" {
			tokens = append(tokens, token)
		}
	}
	return tokens, nil
}

// markerParser is a parser by recursive descent: or binds weaker than and.
type markerParser struct{ tokens []string }

func (p *markerParser) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *markerParser) next() string {
	token := p.peek()
	if token != "" {
		p.tokens = p.tokens[1:]
	}
	return token
}

func (p *markerParser) or(depth int) (node, error) {
	left, err := p.and(depth)
	for err == nil && p.peek() == "or" {
		p.next()
		var right node
		before := left
		right, err = p.and(depth)
		left = func(e Environment) bool { return before(e) || right(e) }
	}
	return left, err
}

func (p *markerParser) and(depth int) (node, error) {
	left, err := p.term(depth)
	for err == nil && p.peek() == "and" {
		p.next()
		var right node
		before := left
		right, err = p.term(depth)
		left = func(e Environment) bool { return before(e) && right(e) }
	}
	return left, err
}

func (p *markerParser) term(depth int) (node, error) {
	if p.peek() != "(" {
		return p.comparison()
	}
	if depth >= maxMarkerDepth {
		return nil, ErrMarker
	}
	p.next()
	inner, err := p.or(depth + 1)
	if err != nil || p.next() != ")" {
		return nil, ErrMarker
	}
	return inner, nil
}

// comparison reads one comparison of a variable with a literal, in either order.
func (p *markerParser) comparison() (node, error) {
	left, operator, right := p.next(), p.next(), p.next()
	if literal, ok := unquoted(right); ok {
		return compare(left, operator, literal, false)
	}
	if literal, ok := unquoted(left); ok {
		return compare(right, operator, literal, true)
	}
	return nil, ErrMarker
}

func unquoted(token string) (string, bool) {
	if len(token) < 2 || token[0] != '"' && token[0] != '\'' {
		return "", false
	}
	return token[1 : len(token)-1], true
}

// compare makes a comparison; swapped is true if the literal stands on the left.
func compare(variable, operator, literal string, swapped bool) (node, error) {
	if _, ok := (Environment{}).release(variable); ok {
		return compareRelease(variable, operator, literal, swapped)
	}
	if _, ok := (Environment{}).text(variable); ok {
		return compareText(variable, operator, literal, swapped)
	}
	return nil, ErrMarker
}

func compareText(variable, operator, literal string, swapped bool) (node, error) {
	text := func(e Environment) string {
		value, _ := e.text(variable)
		return value
	}
	switch {
	case operator == "==":
		return func(e Environment) bool { return text(e) == literal }, nil
	case operator == "!=":
		return func(e Environment) bool { return text(e) != literal }, nil
	case operator == "in" && swapped:
		return func(e Environment) bool { return strings.Contains(text(e), literal) }, nil
	case operator == "in":
		return func(e Environment) bool { return strings.Contains(literal, text(e)) }, nil
	case operator == "not in" && swapped:
		return func(e Environment) bool { return !strings.Contains(text(e), literal) }, nil
	case operator == "not in":
		return func(e Environment) bool { return !strings.Contains(literal, text(e)) }, nil
	}
	// An order of texts means one thing to pip and another to uv.
	return nil, ErrMarker
}

var mirrored = map[string]string{"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

func compareRelease(variable, operator, literal string, swapped bool) (node, error) {
	if swapped {
		if strings.Contains(literal, "*") {
			return nil, ErrMarker
		}
		operator = mirrored[operator]
	}
	if operator == "in" || operator == "not in" {
		return releaseIn(variable, literal, operator == "in")
	}
	specifier, err := pep440.Parse(operator + literal)
	if err != nil || strings.Contains(literal, ",") {
		return nil, ErrMarker
	}
	return func(e Environment) bool {
		version, _ := e.release(variable)
		return specifier.Admits(version)
	}, nil
}

// releaseIn takes the one form of which pip, which looks for a text in a text, and
// uv, which reads a list of versions, think alike.
func releaseIn(variable, literal string, wanted bool) (node, error) {
	var listed []pep440.Specifier
	for _, word := range strings.Fields(literal) {
		specifier, err := pep440.Parse("==" + word)
		if err != nil || strings.Count(word, ".") != 1 || strings.Contains(word, "*") || variable != "python_version" {
			return nil, ErrMarker
		}
		listed = append(listed, specifier)
	}
	if len(listed) == 0 {
		return nil, ErrMarker
	}
	return func(e Environment) bool {
		version, _ := e.release(variable)
		for _, specifier := range listed {
			if specifier.Admits(version) {
				return wanted
			}
		}
		return !wanted
	}, nil
}
