package junit

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// Limits of a report.
const (
	// MaxBytes is the broker's bound on a report file.
	MaxBytes = 256 << 10
	maxDepth = 64
	maxNodes = 20_000
	maxAttrs = 32
)

// Parse returns the counts of a report. Its error is our own words and fits a
// command's problem.
//
// A suite is any element that itself holds a test case. Node writes a top-level
// test as a case directly under <testsuites>, with no <testsuite> around it, so the
// root counts as one too. A case with an error or a failure is a failure, unless
// it is also skipped: Node marks an expected failure ("todo") with both.
//
// Node also writes a case named after a file that ended well without reporting any
// test: one that has none, or one in which something called process.exit(0). Such a
// case executed nothing, so it counts as skipped.
func Parse(report []byte) (v1alpha1.ReportCounts, error) {
	if len(report) > MaxBytes {
		return v1alpha1.ReportCounts{}, fmt.Errorf("the report has more than %d bytes", MaxBytes)
	}
	decoder := xml.NewDecoder(bytes.NewReader(printable(report)))
	p := parser{}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return p.result()
		}
		if err != nil {
			return v1alpha1.ReportCounts{}, errors.New("the report is not well-formed XML")
		}
		if err := p.token(token); err != nil {
			return v1alpha1.ReportCounts{}, err
		}
	}
}

// element is one open element.
type element struct {
	name string
	// holdsCase is true once a test case was seen directly in it.
	holdsCase bool
	// failed, skipped and wholeFile are of a test case.
	failed, skipped, wholeFile bool
}

type parser struct {
	counts v1alpha1.ReportCounts
	open   []element
	nodes  int
	rooted bool
}

func (p *parser) token(token xml.Token) error {
	if p.nodes++; p.nodes > maxNodes {
		return fmt.Errorf("the report has more than %d elements, texts and comments", maxNodes)
	}
	switch t := token.(type) {
	case xml.StartElement:
		return p.start(t)
	case xml.EndElement:
		p.end()
	case xml.CharData:
		if len(p.open) == 0 && len(bytes.TrimSpace(t)) > 0 {
			return errors.New("the report has text outside its root element")
		}
	case xml.ProcInst:
		if t.Target != "xml" {
			return errors.New("the report has a processing instruction")
		}
	case xml.Directive:
		return errors.New("the report has a document type or another directive")
	}
	return nil
}

func (p *parser) start(t xml.StartElement) error {
	if len(t.Attr) > maxAttrs {
		return fmt.Errorf("an element of the report has more than %d attributes", maxAttrs)
	}
	if len(p.open) >= maxDepth {
		return fmt.Errorf("the report is nested more than %d deep", maxDepth)
	}
	if t.Name.Space != "" {
		return errors.New("the report uses XML namespaces")
	}
	parent := ""
	if len(p.open) > 0 {
		parent = p.open[len(p.open)-1].name
	}
	if err := p.place(t.Name.Local, parent); err != nil {
		return err
	}
	p.open = append(p.open, element{name: t.Name.Local, wholeFile: parent == "testsuites" && namesFile(t)})
	return nil
}

var scriptName = regexp.MustCompile(`\.[cm]?[jt]sx?$`)

// namesFile reports whether a case directly under the root is one that Node's runner
// wrote for a whole file.
func namesFile(t xml.StartElement) bool {
	name, class := "", ""
	for _, attribute := range t.Attr {
		switch attribute.Name.Local {
		case "name":
			name = attribute.Value
		case "classname":
			class = attribute.Value
		}
	}
	return class == "test" && scriptName.MatchString(name)
}

// place checks that an element is where it counts, and marks what it says about its
// parent. Elements that do not count may be anywhere below the root.
func (p *parser) place(name, parent string) error {
	if parent == "" {
		if p.rooted {
			return errors.New("the report has more than one root element")
		}
		p.rooted = true
		if name != "testsuites" && name != "testsuite" {
			return errors.New("the report's root element is neither testsuites nor testsuite")
		}
		return nil
	}
	inSuite := parent == "testsuites" || parent == "testsuite"
	switch name {
	case "testsuites":
		return errors.New("the report has testsuites inside its root element")
	case "testsuite":
		if !inSuite {
			return errors.New("the report has a suite outside of suites")
		}
	case "testcase":
		if !inSuite {
			return errors.New("the report has a test case outside of a suite")
		}
		p.open[len(p.open)-1].holdsCase = true
	case "failure", "error":
		p.mark(parent, inSuite, func(e *element) { e.failed = true })
	case "skipped":
		p.mark(parent, false, func(e *element) { e.skipped = true })
	}
	return nil
}

// mark applies to a test case's own children. A failure of a suite itself, such as
// one of its hooks, counts as a failed case of its own.
func (p *parser) mark(parent string, ofSuite bool, set func(*element)) {
	if parent == "testcase" {
		set(&p.open[len(p.open)-1])
	} else if ofSuite {
		p.counts.Tests++
		p.counts.Failures++
	}
}

func (p *parser) end() {
	closed := p.open[len(p.open)-1]
	p.open = p.open[:len(p.open)-1]
	if closed.holdsCase {
		p.counts.Suites++
	}
	if closed.name != "testcase" {
		return
	}
	p.counts.Tests++
	switch {
	case closed.skipped:
		p.counts.Skipped++
	case closed.failed:
		p.counts.Failures++
	case closed.wholeFile:
		p.counts.Skipped++
	}
}

func (p *parser) result() (v1alpha1.ReportCounts, error) {
	if !p.rooted {
		return v1alpha1.ReportCounts{}, errors.New("the report is empty")
	}
	return p.counts, nil
}

// printable replaces every character that XML does not admit. Reporters write the
// names and messages of tests as they are, so a test about terminal colours would
// otherwise make its whole report unreadable. None of them is markup, so this moves
// no element.
func printable(report []byte) []byte {
	return bytes.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return r
		case r < ' ' || r == 0xfffe || r == 0xffff:
			return utf8.RuneError
		}
		return r // bytes.Map decodes an invalid byte to the replacement character.
	}, report)
}
