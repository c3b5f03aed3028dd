package npm

import "strings"

// simpleCommands splits a script that is a list of commands joined by && into their
// words, as a shell does. plain is false if the script is anything else: then npm's
// arguments, which it appends to the script, reach who knows what. The commands of such
// a script are split at all that ends one.
func simpleCommands(script string) (commands [][]string, plain bool) {
	s := splitter{plain: true}
	for i := 0; i < len(script); i++ {
		c := script[i]
		switch {
		case s.quote != 0:
			s.quoted(c)
		case c == '\'' || c == '"':
			s.quote, s.inWord = c, true
		case c == ' ' || c == '\t':
			s.endWord()
		case c == '&' && strings.HasPrefix(script[i:], "&&"):
			i++
			s.endCommand()
		case strings.IndexByte(";|&\r\n(){}<>", c) >= 0:
			s.plain = false
			s.endCommand()
		default:
			s.quoted(c)
		}
	}
	s.endCommand()
	return s.commands, s.plain && s.quote == 0
}

type splitter struct {
	commands [][]string
	words    []string
	word     strings.Builder
	// inWord is true after a quote, which makes even nothing a word.
	inWord bool
	quote  byte
	plain  bool
}

// quoted takes a character of a word. Substitutions, escapes and comments are not
// followed; a variable does not change who gets the arguments behind it.
func (s *splitter) quoted(c byte) {
	if c == s.quote {
		s.quote = 0
		return
	}
	if s.quote != '\'' && (c == '`' || c == '\\') || s.quote == 0 && c == '#' && s.word.Len() == 0 {
		s.plain = false
	}
	s.inWord = true
	s.word.WriteByte(c)
}

func (s *splitter) endWord() {
	if s.inWord {
		s.words = append(s.words, s.word.String())
	}
	s.word.Reset()
	s.inWord = false
}

func (s *splitter) endCommand() {
	s.endWord()
	if len(s.words) > 0 {
		s.commands = append(s.commands, s.words)
	}
	s.words = nil
}
