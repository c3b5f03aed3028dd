package junit

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/boundedjson"
)

var jestLimits = boundedjson.Limits{Bytes: MaxBytes, Depth: maxDepth, Values: 200_000}

// isJSON reports whether a report begins as jest's does. No XML does.
func isJSON(report []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(report), []byte("{")) }

// readJest reads what jest writes for --json: an object with a list of files, each with
// a list of tests. As with XML, nothing but the list of tests is counted.
func readJest(report []byte) (Report, error) {
	object, err := boundedjson.ParseObject(report, jestLimits)
	if err != nil {
		return Report{}, fmt.Errorf("the report is no JSON of jest: %w", err)
	}
	files, ok := field[[]any](object, "testResults")
	if !ok {
		return Report{}, errors.New("the report is no JSON of jest: it has no list testResults")
	}
	if cut, _ := field[bool](object, "wasInterrupted"); cut {
		return Report{}, errors.New("the report says that the tests were interrupted")
	}
	var r Report
	for _, value := range files {
		file, ok := value.(*boundedjson.Object)
		if !ok {
			return Report{}, errors.New("the report is no JSON of jest: a file is not an object")
		}
		if err := r.jestFile(file); err != nil {
			return Report{}, err
		}
	}
	return r, nil
}

func (r *Report) jestFile(file *boundedjson.Object) error {
	name, hasName := field[string](file, "name")
	tests, hasTests := field[[]any](file, "assertionResults")
	status, hasStatus := field[string](file, "status")
	if !hasName || !hasTests || !hasStatus {
		return errors.New("the report is no JSON of jest: a file has no name, status or assertionResults")
	}
	name = relative(name)
	if len(tests) > 0 {
		r.Counts.Suites++
	}
	failed := false
	for _, value := range tests {
		test, ok := value.(*boundedjson.Object)
		if !ok {
			return errors.New("the report is no JSON of jest: a test is not an object")
		}
		c, err := jestCase(name, test)
		if err != nil {
			return err
		}
		failed = failed || c.Status == Failed
		if err := r.add(c); err != nil {
			return err
		}
	}
	// A file that could not be loaded, has no test or failed beside its tests.
	if status == "failed" && !failed {
		if len(tests) == 0 {
			r.Counts.Suites++
		}
		return r.add(Case{ID: bounded(name), Name: bounded(name), Status: Failed, WholeFile: true})
	}
	return nil
}

func jestCase(file string, test *boundedjson.Object) (Case, error) {
	title, hasTitle := field[string](test, "title")
	status, hasStatus := field[string](test, "status")
	above, hasAbove := field[[]any](test, "ancestorTitles")
	if !hasTitle || !hasStatus || !hasAbove {
		return Case{}, errors.New("the report is no JSON of jest: a test has no title, status or ancestorTitles")
	}
	var suites []string
	for _, value := range above {
		suite, _ := value.(string)
		suites = append(suites, suite)
	}
	c := Case{ID: idOf(file, suites, "", title), Name: bounded(title), Status: Skipped}
	switch expected, _ := field[bool](test, "failing"); {
	case expected: // to fail
	case status == "passed":
		c.Status = Passed
	case status == "failed":
		c.Status = Failed
	}
	return c, nil
}

// add counts a case.
func (r *Report) add(c Case) error {
	if len(r.Cases) == MaxCases {
		return fmt.Errorf("the report has more than %d tests", MaxCases)
	}
	r.Counts.Tests++
	switch c.Status {
	case Failed:
		r.Counts.Failures++
	case Skipped:
		r.Counts.Skipped++
	}
	r.Cases = append(r.Cases, c)
	return nil
}

func field[T any](object *boundedjson.Object, key string) (T, bool) {
	value, _ := object.Get(key)
	typed, ok := value.(T)
	return typed, ok
}

// relative names a file of the workspace from its root.
func relative(path string) string { return strings.TrimPrefix(path, brokerproto.Workspace+"/") }
