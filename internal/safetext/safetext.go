// Package safetext makes bytes that came from a guest, a repository or a registry
// fit for status fields, events and logs: bounded, printable, on few lines.
package safetext

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line escapes text to one line of at most limit bytes. What does not fit is cut
// off at the end and marked with an ellipsis.
func Line(text string, limit int) string {
	return head(escape(text, false), limit)
}

// Tail escapes output to at most limit bytes and keeps the end of it. Newlines
// stay; every other control character, bidirectional override, zero-width
// character and invalid byte becomes a visible escape.
func Tail(output []byte, limit int) string {
	// Every byte escapes to at least one byte, so one byte more than the limit is
	// all that is ever needed: a hostile megabyte is not escaped only to be cut.
	output = bytes.TrimSpace(output)
	if len(output) > limit {
		output = output[len(output)-limit-1:]
	}
	return tail(escape(string(output), true), limit)
}

func escape(text string, newlines bool) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\n' && newlines:
			b.WriteByte('\n')
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		case !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

const ellipsis = "…"

func head(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := limit - len(ellipsis)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:max(cut, 0)] + ellipsis
}

func tail(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := len(text) - limit + len(ellipsis)
	for cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut++
	}
	return ellipsis + text[cut:]
}
