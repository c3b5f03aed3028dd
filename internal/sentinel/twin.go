package sentinel

import (
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Twin is a copy of a regression test file with planted failing tests.
type Twin struct {
	// Target is the path of the regression test, Path that of the copy beside it.
	Target, Path string
	// Content of the copy.
	Content []byte
	// Planted are the names of the planted tests, all of which fail.
	Planted []string

	// original maps random titles and the twin's name back.
	original *strings.Replacer
}

// language is how tests of one kind of file are written.
type language struct {
	// quotes are the forms in which a test's title stands in its file.
	quotes []string
	// names matches what comes before a test's own name.
	names *regexp.Regexp
	// title makes a title out of random letters.
	title func(random string) string
	// parameters begin what a report adds behind a test's name, joint ends what it adds
	// before; "" if nothing.
	parameters, joint string
	// head comes before the content of a file.
	head func(target string) string
	// imports come behind the content of a file.
	imports func(content string) string
	// plant returns tests of these titles, all of which fail.
	plant func(titles []string) string
	// planted is how many.
	planted int
}

// titles are the names that can stand in a file: a parametrised test of pytest has its
// parameters behind its name, a test of vitest the suites around it before. Where such a
// name begins cannot be told from what a title itself contains.
func (l language) titles(names []string) []string {
	var titles []string
	add := func(name string) {
		if !slices.Contains(titles, name) {
			titles = append(titles, name)
		}
	}
	for _, name := range names {
		if l.parameters != "" {
			name, _, _ = strings.Cut(name, l.parameters)
		}
		add(name)
		for l.joint != "" && strings.Contains(name, l.joint) {
			_, name, _ = strings.Cut(name, l.joint)
			add(name)
		}
	}
	return titles
}

var scriptEnding = regexp.MustCompile(`\.[cm]?[jt]sx?$`)

func languageOf(target string) (language, bool) {
	switch {
	case scriptEnding.MatchString(target):
		return javascript, true
	case strings.HasSuffix(target, ".py"):
		return python, true
	}
	return language{}, false
}

// Plantable reports whether a file is of a kind that New can make a twin of.
func Plantable(target string) bool {
	_, ok := languageOf(target)
	return ok
}

// New makes the twin of a target with the given content. titles are the names of the
// target's tests as a report has them; those that stand in the content exactly once
// become random.
func New(target string, content []byte, titles []string, random io.Reader) (Twin, error) {
	lang, ok := languageOf(target)
	if !ok {
		return Twin{}, fmt.Errorf("no test can be planted beside %s: it is neither JavaScript, TypeScript nor Python", path.Ext(target))
	}
	t := Twin{Target: target}
	name, err := letters(random)
	if err != nil {
		return Twin{}, err
	}
	t.Path = rename(target, name)
	text := string(content)
	back := []string{strings.TrimSuffix(path.Base(t.Path), path.Ext(t.Path)), strings.TrimSuffix(path.Base(target), path.Ext(target))}
	for _, title := range lang.titles(titles) {
		hidden, err := letters(random)
		if err != nil {
			return Twin{}, err
		}
		hidden = lang.title(hidden)
		if replaced, ok := lang.retitle(text, title, hidden); ok {
			text = replaced
			back = append(back, hidden, title)
		}
	}
	t.original = strings.NewReplacer(back...)
	for range lang.planted {
		title, err := letters(random)
		if err != nil {
			return Twin{}, err
		}
		t.Planted = append(t.Planted, lang.title(title))
	}
	t.Content = []byte(lang.head(target) + text + lang.imports(text) + lang.plant(t.Planted))
	return t, nil
}

// Original returns a test's id as it is in the target's own report.
func (t Twin) Original(id string) string { return t.original.Replace(id) }

// retitle replaces a title that stands in the text exactly once, in one form, and
// where a test is given its name: a name that is also a test's input has to stay.
func (l language) retitle(text, title, hidden string) (string, bool) {
	found := ""
	for _, quote := range l.quotes {
		switch quoted := fmt.Sprintf(quote, title); strings.Count(text, quoted) {
		case 0:
		case 1:
			if found != "" {
				return "", false
			}
			found = quote
		default:
			return "", false
		}
	}
	if title == "" || found == "" {
		return "", false
	}
	before, after, _ := strings.Cut(text, fmt.Sprintf(found, title))
	if !l.names.MatchString(before) {
		return "", false
	}
	return before + fmt.Sprintf(found, hidden) + after, true
}

// rename gives a file another name that the same runner takes for a test: what comes
// before and after the name proper stays.
func rename(target, name string) string {
	folder, base := path.Split(target)
	head, tail, _ := strings.Cut(base, ".")
	for _, mark := range []string{"test_", "test-"} {
		if strings.HasPrefix(head, mark) {
			return folder + mark + name + "." + tail
		}
	}
	for _, mark := range []string{"_test", "-test", "_spec", "-spec"} {
		if strings.HasSuffix(head, mark) {
			return folder + name + mark + "." + tail
		}
	}
	return folder + name + "." + tail
}

// letters are 80 random bits that may be a name in every language.
func letters(random io.Reader) (string, error) {
	raw := make([]byte, 10)
	if _, err := io.ReadFull(random, raw); err != nil {
		return "", fmt.Errorf("reading randomness: %w", err)
	}
	return "t" + hex.EncodeToString(raw), nil
}
