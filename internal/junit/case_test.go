package junit

import (
	"os"
	"strings"
	"testing"
)

func TestNamesTests(t *testing.T) {
	cases := []struct {
		name, report string
		want         Case
	}{
		{"a test of Node", `<testsuites><testcase name="cuts" classname="test"/></testsuites>`, Case{"cuts", "cuts", Passed, false}},
		{"a test in suites of Node", `<testsuites><testsuite name="a"><testsuite name="b"><testcase name="cuts" classname="test"/></testsuite></testsuite></testsuites>`, Case{"a > b > cuts", "cuts", Passed, false}},
		{"a test of pytest", `<testsuites><testsuite name="pytest"><testcase classname="tests.test_bug" name="test_cut[1]"><failure/></testcase></testsuite></testsuites>`, Case{"pytest > tests.test_bug > test_cut[1]", "test_cut[1]", Failed, false}},
		{"a file that pytest could not load", `<testsuites><testsuite name="pytest"><testcase classname="" name="tests.test_bug"><error message="collection failure"/></testcase></testsuite></testsuites>`, Case{"pytest > tests.test_bug", "tests.test_bug", Failed, true}},
		{"an error that only looks like it", `<testsuites><testsuite name="pytest"><testcase classname="tests.test_bug" name="test_cut"><error message="collection failure"/></testcase></testsuite></testsuites>`, Case{"pytest > tests.test_bug > test_cut", "test_cut", Failed, false}},
		{"a file that Node could not load", `<testsuites><testcase name="test/bug.test.js" classname="test"><failure/></testcase></testsuites>`, Case{"test/bug.test.js", "test/bug.test.js", Failed, true}},
		{"a file without a test", `<testsuites><testcase name="test/bug.test.js" classname="test"/></testsuites>`, Case{"test/bug.test.js", "test/bug.test.js", Skipped, true}},
		{"an expected failure", `<testsuites><testcase name="a" classname="test"><skipped type="todo"/><failure/></testcase></testsuites>`, Case{"a", "a", Skipped, false}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := Read([]byte(c.report))
			if err != nil || len(report.Cases) != 1 || report.Cases[0] != c.want {
				t.Errorf("got %+v, %v; want %+v", report.Cases, err, c.want)
			}
		})
	}
}

func TestCasesAgreeWithCounts(t *testing.T) {
	data, err := os.ReadFile("testdata/node-22.xml")
	if err != nil {
		t.Fatal(err)
	}
	report, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	byStatus := map[Status]int32{}
	for _, c := range report.Cases {
		byStatus[c.Status]++
	}
	if byStatus[Failed] != report.Counts.Failures || byStatus[Skipped] != report.Counts.Skipped || int32(len(report.Cases)) != report.Counts.Tests {
		t.Errorf("%v and %+v", byStatus, report.Counts)
	}
}

func TestBoundsIDs(t *testing.T) {
	long := strings.Repeat("é", MaxID)
	read := func(name string) string {
		report, err := Read([]byte(`<testsuite><testcase name="` + name + `"/></testsuite>`))
		if err != nil {
			t.Fatal(err)
		}
		return report.Cases[0].ID
	}
	a, b := read(long+"a"), read(long+"b")
	if len(a) > MaxID || a == b || a != read(long+"a") {
		t.Errorf("%d bytes: %q and %q", len(a), a, b)
	}
}

func TestDigestIsOfResultsNotOfTheirOrder(t *testing.T) {
	a, b := Case{ID: "a", Status: Passed}, Case{ID: "b", Status: Failed}
	if Digest([]Case{a, b}) != Digest([]Case{b, a}) {
		t.Error("the order changes the digest")
	}
	if Digest([]Case{a, b}) == Digest([]Case{a, {ID: "b", Status: Passed}}) {
		t.Error("a result does not change the digest")
	}
}
