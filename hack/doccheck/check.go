package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	link = regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]+)\)`)
	// identifier is a link's text that names something in the file it leads to.
	identifier = regexp.MustCompile("^`([A-Za-z_][A-Za-z0-9_]*)`$")
	testName   = regexp.MustCompile(`^(Test|Fuzz|Benchmark)[A-Z0-9]`)
	elsewhere  = regexp.MustCompile(`^[a-z]+:`)
	notSlug    = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// check returns what is wrong with a page's links.
func check(page string) (problems []string, err error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, fmt.Errorf("reading the page: %w", err)
	}
	for number, line := range prose(string(text)) {
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			if problem := broken(page, m[1], m[2]); problem != "" {
				problems = append(problems, fmt.Sprintf("line %d: %s", number, problem))
			}
		}
	}
	return problems, nil
}

// prose yields the lines outside of fenced code, with their numbers.
func prose(text string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		fenced, number := false, 0
		for line := range strings.Lines(text) {
			number++
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			} else if !fenced && !yield(number, line) {
				return
			}
		}
	}
}

// broken says what is wrong with one link, or nothing.
func broken(page, text, target string) string {
	if elsewhere.MatchString(target) {
		return ""
	}
	path, anchor, _ := strings.Cut(target, "#")
	file := page
	if path != "" {
		file = filepath.Join(filepath.Dir(page), path)
	}
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Sprintf("%s does not exist", target)
	}
	if info.IsDir() {
		return ""
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	if anchor != "" && strings.HasSuffix(file, ".md") && !hasHeading(string(content), anchor) {
		return fmt.Sprintf("%s: the page has no such heading", target)
	}
	if name := identifier.FindStringSubmatch(text); name != nil && !names(string(content), name[1]) {
		return fmt.Sprintf("%s is not in %s", name[1], target)
	}
	return ""
}

// names: the text has the name as a word of its own; of a test, its function.
func names(content, name string) bool {
	if testName.MatchString(name) {
		return strings.Contains(content, "\nfunc "+name+"(")
	}
	return regexp.MustCompile(`\b` + name + `\b`).MatchString(content)
}

// hasHeading: a heading of the page becomes this anchor.
func hasHeading(content, anchor string) bool {
	for _, line := range prose(content) {
		heading := strings.TrimLeft(line, "#")
		if heading == line {
			continue
		}
		slug := notSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
		if strings.ReplaceAll(slug, " ", "-") == anchor {
			return true
		}
	}
	return false
}
