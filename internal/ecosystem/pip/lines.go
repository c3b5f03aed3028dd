package pip

import "strings"

// logicalLines splits a requirements file as pip does: at Python's line boundaries,
// joined where a line ends in a backslash, without comments and blank lines. The file
// that is approved must be the file that pip applies, so every oddity is kept: see
// TestLinesAreThoseOfTheRealPip.
func logicalLines(content string) []string {
	var lines []string
	for _, line := range joinLines(splitLines(content)) {
		if line = strings.TrimFunc(withoutComment(line), isSpace); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// joinLines is pip's join_lines. A comment line ends what it continues, and never
// continues itself.
func joinLines(physical []string) []string {
	var lines []string
	var open strings.Builder
	continued := false
	for _, line := range physical {
		comment := isComment(line)
		if strings.HasSuffix(line, `\`) && !comment {
			// pip strips backslashes at both ends.
			open.WriteString(strings.Trim(line, `\`))
			continued = true
			continue
		}
		if comment {
			line = " " + line
		}
		if continued {
			line = open.String() + line
			open.Reset()
			continued = false
		}
		lines = append(lines, line)
	}
	if continued {
		lines = append(lines, open.String())
	}
	return lines
}

// isComment reports whether there is nothing but a comment.
func isComment(line string) bool {
	return strings.HasPrefix(strings.TrimLeftFunc(line, isSpace), "#")
}

// withoutComment cuts a line at the first # that starts it or follows white space,
// and that white space with it.
func withoutComment(line string) string {
	for at := strings.IndexByte(line, '#'); at >= 0; {
		before := strings.TrimRightFunc(line[:at], isSpace)
		if at == 0 || len(before) < at {
			return before
		}
		next := strings.IndexByte(line[at+1:], '#')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return line
}

// splitLines is Python's str.splitlines.
func splitLines(s string) []string {
	var lines []string
	start := 0
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		if !isBoundary(runes[i]) {
			continue
		}
		lines = append(lines, string(runes[start:i]))
		if runes[i] == '\r' && i+1 < len(runes) && runes[i+1] == '\n' {
			i++
		}
		start = i + 1
	}
	if start < len(runes) {
		lines = append(lines, string(runes[start:]))
	}
	return lines
}

func isBoundary(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

// isSpace is Python's str.isspace, which has the four separators that Go's leaves out.
func isSpace(r rune) bool {
	switch {
	case r >= '\t' && r <= '\r', r >= 0x1c && r <= ' ', r == 0x85, r == 0xa0, r == 0x1680,
		r >= 0x2000 && r <= 0x200a, r == 0x2028, r == 0x2029, r == 0x202f, r == 0x205f, r == 0x3000:
		return true
	}
	return false
}
