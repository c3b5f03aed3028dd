package boundedtoml

import (
	"bytes"
	"fmt"
)

// scanner measures a document without building anything. It knows TOML's strings
// and comments, and so which brackets, dots, commas and equal signs count.
type scanner struct {
	data   []byte
	limits Limits
	at     int
	depth  int
	dots   int
	values int
}

func (s *scanner) scan() error {
	for s.at < len(s.data) {
		c := s.data[s.at]
		s.at++
		switch c {
		case '#':
			s.skipLine()
		case '"', '\'':
			s.skipString(c)
		case '[', '{':
			s.depth++
			s.dots = 0
		case ']', '}':
			s.depth = max(0, s.depth-1)
		case '.':
			s.dots++
		case '\n', ',', '=':
			s.dots = 0
			if c != '\n' {
				s.values++
			}
		}
		if s.depth > s.limits.Depth || s.dots >= s.limits.Depth {
			return fmt.Errorf("it is nested more than %d deep", s.limits.Depth)
		}
		if s.values > s.limits.Values {
			return fmt.Errorf("it has more than %d values", s.limits.Values)
		}
	}
	return nil
}

func (s *scanner) skipLine() {
	if end := bytes.IndexByte(s.data[s.at:], '\n'); end >= 0 {
		s.at += end
		return
	}
	s.at = len(s.data)
}

// skipString moves behind a string whose first quote was read. One that does not
// end on its line is not valid, and so is the document.
func (s *scanner) skipString(quote byte) {
	if bytes.HasPrefix(s.data[s.at:], []byte{quote, quote}) {
		s.at += 2
		s.skipLong(quote)
		return
	}
	for s.at < len(s.data) {
		c := s.data[s.at]
		s.at++
		switch {
		case c == quote, c == '\n':
			return
		case c == '\\' && quote == '"':
			s.at++
		}
	}
}

// skipLong moves behind a string in triple quotes. Up to two quotes may stand before
// the closing three, and belong to the string.
func (s *scanner) skipLong(quote byte) {
	closing := []byte{quote, quote, quote}
	for s.at < len(s.data) {
		switch {
		case s.data[s.at] == '\\' && quote == '"':
			s.at += 2
		case bytes.HasPrefix(s.data[s.at:], closing):
			s.at += 3
			for extra := 0; extra < 2 && s.at < len(s.data) && s.data[s.at] == quote; extra++ {
				s.at++
			}
			return
		default:
			s.at++
		}
	}
}
