package junit

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
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

// Report is what a report says.
type Report struct {
	Counts v1alpha1.ReportCounts
	// Cases in the report's order. A failure of a suite itself is counted, and is no
	// case.
	Cases []Case
}

// Parse returns the counts of a report; see Read.
func Parse(report []byte) (v1alpha1.ReportCounts, error) {
	r, err := Read(report)
	return r.Counts, err
}

// Read returns the counts and the tests of a report: JUnit XML, or the JSON of jest,
// which has no reporter for XML. Its error is our own words and fits a command's problem.
//
// A suite is any element that itself holds a test case. Node writes a top-level
// test as a case directly under <testsuites>, with no <testsuite> around it, so the
// root counts as one too. A case with an error or a failure is a failure, unless
// it is also skipped: Node marks an expected failure ("todo") with both.
//
// Node also writes a case named after a file that ended well without reporting any
// test: one that has none, or one in which something called process.exit(0). Such a
// case executed nothing, so it counts as skipped.
func Read(report []byte) (Report, error) {
	if len(report) > MaxBytes {
		return Report{}, fmt.Errorf("the report has more than %d bytes", MaxBytes)
	}
	if isJSON(report) {
		return readJest(report)
	}
	decoder := xml.NewDecoder(bytes.NewReader(printable(report)))
	p := parser{}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return p.result()
		}
		if err != nil {
			return Report{}, errors.New("the report is not well-formed XML")
		}
		if err := p.token(token); err != nil {
			return Report{}, err
		}
	}
}

// element is one open element.
type element struct {
	name string
	// title, class and file are the attributes name, classname and file; file from the
	// root of the workspace.
	title, class, file string
	// holdsCase is true once a test case was seen directly in it.
	holdsCase bool
	// failed, skipped and wholeFile are of a test case.
	failed, skipped, wholeFile bool
	// brokenImport is true if a test case has the error of a file that pytest could
	// not load.
	brokenImport bool
}

type parser struct {
	report Report
	open   []element
	nodes  int
	rooted bool
	// vitest is true if the root says that vitest wrote the report.
	vitest bool
}

func (p *parser) token(token xml.Token) error {
	if p.nodes++; p.nodes > maxNodes {
		return fmt.Errorf("the report has more than %d elements, texts and comments", maxNodes)
	}
	switch t := token.(type) {
	case xml.StartElement:
		return p.start(t)
	case xml.EndElement:
		return p.end()
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
	if t.Name.Local == "error" && parent == "testcase" && attribute(t, "message") == "collection failure" {
		p.open[len(p.open)-1].brokenImport = true
	}
	e := element{name: t.Name.Local, title: attribute(t, "name"), class: attribute(t, "classname"), file: relative(attribute(t, "file"))}
	e.wholeFile = e.name == "testcase" && parent == "testsuites" && e.class == "test" && scriptName.MatchString(e.title)
	p.vitest = p.vitest || parent == "" && e.title == "vitest tests"
	p.open = append(p.open, e)
	return nil
}

// scriptName is the name of a case that Node's runner wrote for a whole file.
var scriptName = regexp.MustCompile(`\.[cm]?[jt]sx?$`)

func attribute(t xml.StartElement, name string) string {
	for _, attribute := range t.Attr {
		if attribute.Name.Local == name {
			return attribute.Value
		}
	}
	return ""
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
		p.report.Counts.Tests++
		p.report.Counts.Failures++
	}
}

func (p *parser) end() error {
	closed := p.open[len(p.open)-1]
	p.open = p.open[:len(p.open)-1]
	if closed.holdsCase {
		p.report.Counts.Suites++
	}
	if closed.name != "testcase" {
		return nil
	}
	c := Case{Name: bounded(closed.title), Status: Passed, WholeFile: closed.wholeFile}
	switch {
	case closed.skipped, closed.wholeFile && !closed.failed:
		c.Status = Skipped
	case closed.failed:
		c.Status = Failed
		c.WholeFile = closed.wholeFile || closed.notLoaded()
	}
	if c.WholeFile {
		closed.file = "" // it is the name
	}
	c.ID = idOf(closed.file, p.suites(), closed.class, closed.title)
	return p.report.add(c)
}

// notLoaded reports whether a failed case stands for a file that could not be loaded, or
// for the tests that a failed hook kept from running: pytest writes the first without a
// class, vitest with the file as class and name, mocha names the hook.
func (e element) notLoaded() bool {
	return e.class == "" && e.brokenImport || e.class == e.title && scriptName.MatchString(e.title) || mochaHook.MatchString(e.title)
}

var mochaHook = regexp.MustCompile(`^"(before|after) (all|each)" hook\b`)

// failedSuites marks the failed cases that vitest writes for a suite whose hook failed:
// its name begins that of the suite's tests.
func (r *Report) failedSuites() {
	suites := map[string]bool{}
	for _, c := range r.Cases {
		for i := strings.LastIndex(c.ID, joint); i >= 0; i = strings.LastIndex(c.ID[:i], joint) {
			suites[c.ID[:i]] = true
		}
	}
	for i, c := range r.Cases {
		if c.Status == Failed && suites[c.ID] {
			r.Cases[i].WholeFile = true
		}
	}
}

// suites are the names of the open suites.
func (p *parser) suites() []string {
	var names []string
	for _, e := range p.open {
		if e.name == "testsuite" {
			names = append(names, e.title)
		}
	}
	return names
}

func (p *parser) result() (Report, error) {
	if !p.rooted {
		return Report{}, errors.New("the report is empty")
	}
	if p.vitest {
		p.report.failedSuites()
	}
	return p.report, nil
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
