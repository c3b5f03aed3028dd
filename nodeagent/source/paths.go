package source

import (
	"strings"
	"unicode/utf8"
)

// checkPath says what is wrong with a path of a tree; "" if nothing is. Leading
// dashes and backslashes are harmless here: no path of a tree ever becomes an
// argument, and the VM's file system has no other separator than the slash.
func checkPath(path string) string {
	if len(path) > MaxPath {
		return "a path longer than 1024 bytes"
	}
	segments := strings.Split(path, "/")
	if len(segments) > MaxDepth {
		return "a path deeper than 64 folders"
	}
	for _, segment := range segments {
		if problem := checkName(segment); problem != "" {
			return problem
		}
	}
	return ""
}

// checkName says what is wrong with one segment of a path.
func checkName(name string) string {
	switch {
	case name == "" || name == "." || name == ".." || strings.Contains(name, "/"):
		return "a path with an empty, . or .. segment"
	case strings.EqualFold(name, ".git"):
		return "a path with a segment named .git"
	case len(name) > MaxName:
		return "a file name longer than 255 bytes"
	case !utf8.ValidString(name):
		return "a file name that is not UTF-8"
	case strings.ContainsFunc(name, func(r rune) bool { return r < 0x20 || r == 0x7f }):
		return "a file name with a control character"
	}
	return ""
}
