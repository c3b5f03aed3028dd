package junit

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

func TestCountsElements(t *testing.T) {
	cases := []struct {
		name, report                     string
		suites, tests, failures, skipped int32
	}{
		{"one suite with a passing case", `<testsuites><testsuite><testcase name="a"/></testsuite></testsuites>`, 1, 1, 0, 0},
		{"a suite as the root", `<testsuite><testcase name="a"/></testsuite>`, 1, 1, 0, 0},
		{"a case of Node directly under the root", `<testsuites><testcase name="a"/></testsuites>`, 1, 1, 0, 0},
		{"bare cases beside a suite", `<testsuites><testcase/><testcase/><testsuite><testcase/></testsuite></testsuites>`, 2, 3, 0, 0},
		{"nested suites", `<testsuites><testsuite><testcase/><testsuite><testcase/></testsuite></testsuite></testsuites>`, 2, 2, 0, 0},
		{"a suite that only holds suites is none itself", `<testsuites><testsuite><testsuite><testcase/></testsuite></testsuite></testsuites>`, 1, 1, 0, 0},
		{"no case at all", `<testsuites><testsuite name="empty" tests="0"/></testsuites>`, 0, 0, 0, 0},
		{"a failure", `<testsuite><testcase><failure message="x">1 &lt; 2</failure></testcase></testsuite>`, 1, 1, 1, 0},
		{"an error counts as a failure", `<testsuite><testcase><error/></testcase></testsuite>`, 1, 1, 1, 0},
		{"a failure and an error of one case count once", `<testsuite><testcase><failure/><error/></testcase></testsuite>`, 1, 1, 1, 0},
		{"a skipped case", `<testsuite><testcase><skipped/></testcase></testsuite>`, 1, 1, 0, 1},
		{"an expected failure of Node is skipped", `<testsuites><testcase><skipped type="todo"/><failure/></testcase></testsuites>`, 1, 1, 0, 1},
		{"a failure of the suite itself", `<testsuite><error>hook</error><testcase/></testsuite>`, 1, 2, 1, 0},
		{"a file of Node that reported no test", `<testsuites><testcase name="test/a.test.js" classname="test"/></testsuites>`, 1, 1, 0, 1},
		{"a file of Node by its absolute path", `<testsuites><testcase name="/workspace/test/a.test.mjs" classname="test"/></testsuites>`, 1, 1, 0, 1},
		{"a file of Node that failed as a whole", `<testsuites><testcase name="test/a.test.js" classname="test"><failure/></testcase></testsuites>`, 1, 1, 1, 0},
		{"a test in a suite that is named like a file", `<testsuites><testsuite><testcase name="parses a.js" classname="test"/></testsuite></testsuites>`, 1, 1, 0, 0},
		{"a failure inside another element is not one of the case", `<testsuite><testcase><system-out><failure/></system-out></testcase></testsuite>`, 1, 1, 0, 0},
		{"count attributes that lie", `<testsuites tests="90" failures="0"><testsuite tests="9" failures="0"><testcase><failure/></testcase></testsuite></testsuites>`, 1, 1, 1, 0},
		{"a failure attribute is no element", `<testsuites><testcase failure="x"/></testsuites>`, 1, 1, 0, 0},
		{"cases in comments and CDATA do not count", `<testsuites><!-- <testcase/> --><testcase><![CDATA[</testcase><testcase>]]></testcase></testsuites>`, 1, 1, 0, 0},
		{"control characters in names and messages", "<testsuites><testcase name=\"esc \x1b[31m \x00\"><failure>\x08</failure></testcase></testsuites>", 1, 1, 1, 0},
		{"invalid UTF-8 in a message", "<testsuites><testcase><failure>\xff\xfe</failure></testcase></testsuites>", 1, 1, 1, 0},
		{"an XML declaration and the five entities", `<?xml version="1.0" encoding="utf-8"?><testsuites><testcase name="&lt;&gt;&amp;&quot;&apos;&#65;"/></testsuites>`, 1, 1, 0, 0},
		{"properties and output", `<testsuites><testsuite><properties><property name="a" value="b"/></properties><testcase/><system-out>x</system-out></testsuite></testsuites>`, 1, 1, 0, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Parse([]byte(c.report))
			want := v1alpha1.ReportCounts{Suites: c.suites, Tests: c.tests, Failures: c.failures, Skipped: c.skipped}
			if err != nil || got != want {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		})
	}
}

func TestReadsTheReportsOfRealRunners(t *testing.T) {
	cases := []struct {
		file string
		want v1alpha1.ReportCounts
	}{
		// 13 cases: two fail, one is skipped, two are todo (one of them failing).
		// One file has no tests.
		{"node-22.xml", v1alpha1.ReportCounts{Suites: 4, Tests: 13, Failures: 2, Skipped: 4}},
		{"node-22-process-exit.xml", v1alpha1.ReportCounts{Suites: 1, Tests: 1, Skipped: 1}},
		{"node-20-process-exit.xml", v1alpha1.ReportCounts{Suites: 1, Tests: 1, Skipped: 1}},
		{"node-22-control-characters.xml", v1alpha1.ReportCounts{Suites: 1, Tests: 3, Failures: 1}},
		// Four tests in a.test.js, one of them skipped and one failing; one in b; a hook that
		// fails in c; d cannot be loaded, which is the end of mocha, so it has none.
		{"jest-27.json", v1alpha1.ReportCounts{Suites: 4, Tests: 7, Failures: 3, Skipped: 1}},
		{"jest-30.json", v1alpha1.ReportCounts{Suites: 4, Tests: 7, Failures: 3, Skipped: 1}},
		{"mocha-9.xml", v1alpha1.ReportCounts{Suites: 1, Tests: 6, Failures: 2, Skipped: 1}},
		{"mocha-12.xml", v1alpha1.ReportCounts{Suites: 1, Tests: 6, Failures: 2, Skipped: 1}},
		{"vitest-1.xml", v1alpha1.ReportCounts{Suites: 4, Tests: 8, Failures: 3, Skipped: 1}},
		{"vitest-4.xml", v1alpha1.ReportCounts{Suites: 4, Tests: 8, Failures: 3, Skipped: 2}},
		{"node-24.xml", v1alpha1.ReportCounts{Suites: 2, Tests: 4, Failures: 1, Skipped: 1}},
	}
	for _, c := range cases {
		t.Run(c.file, func(t *testing.T) {
			report, err := os.ReadFile("testdata/" + c.file)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := Parse(report); err != nil || got != c.want {
				t.Errorf("got %+v, %v; want %+v", got, err, c.want)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	deep := strings.Repeat("<testsuite>", maxDepth+1) + strings.Repeat("</testsuite>", maxDepth+1)
	cases := map[string]string{
		"an empty file":            "",
		"text only":                "1..0",
		"a cut-off report":         `<testsuites><testcase/>`,
		"another root":             `<html><testsuite><testcase/></testsuite></html>`,
		"a second root":            `<testsuites><testcase/></testsuites><testsuites/>`,
		"text after the root":      `<testsuites><testcase/></testsuites>passed`,
		"a document type":          `<!DOCTYPE testsuites><testsuites><testcase/></testsuites>`,
		"an entity definition":     `<!DOCTYPE t [<!ENTITY a "b">]><testsuites><testcase name="&a;"/></testsuites>`,
		"an unknown entity":        `<testsuites><testcase name="&nbsp;"/></testsuites>`,
		"another encoding":         `<?xml version="1.0" encoding="utf-16"?><testsuites><testcase/></testsuites>`,
		"a processing instruction": `<testsuites><?php 1 ?><testcase/></testsuites>`,
		"a case in a case":         `<testsuites><testcase><testcase/></testcase></testsuites>`,
		"a suite in a case":        `<testsuites><testcase><testsuite/></testcase></testsuites>`,
		"a root in a root":         `<testsuites><testsuites><testcase/></testsuites></testsuites>`,
		"a namespace":              `<testsuites xmlns="urn:x"><testcase/></testsuites>`,
		"too deep":                 deep,
		"too many elements":        "<testsuite>" + strings.Repeat("<testcase/>", maxNodes) + "</testsuite>",
		"too many attributes":      `<testsuites ` + strings.Repeat(`a="" `, maxAttrs+1) + `/>`,
		"too many bytes":           "<testsuite><testcase/></testsuite>" + strings.Repeat(" ", MaxBytes),
	}
	for name, report := range cases {
		t.Run(name, func(t *testing.T) {
			if got, err := Parse([]byte(report)); err == nil {
				t.Errorf("accepted: %+v", got)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`<testsuites><testsuite><testcase><failure/></testcase></testsuite></testsuites>`,
		`<?xml version="1.0"?><testsuite><testcase><skipped/></testcase></testsuite>`,
		`<!DOCTYPE a [<!ENTITY b "c">]><testsuites/>`, "<testsuites><testcase name='\x1b'/></testsuites>",
		`{"testResults":[{"name":"a","status":"failed","assertionResults":[{"title":"t","ancestorTitles":["s"],"status":"passed"}]}]}`,
		`<testsuites name="vitest tests"><testsuite><testcase name="a"><failure/></testcase><testcase name="a &gt; b"/></testsuite></testsuites>`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, report []byte) {
		read, err := Read(report)
		c := read.Counts
		for _, test := range read.Cases {
			if len(test.ID) > MaxID || len(test.Name) > MaxID || !utf8.ValidString(test.ID) {
				t.Fatalf("a test with the id %q", test.ID)
			}
		}
		if len(read.Cases) > MaxCases || int(c.Tests) < len(read.Cases) {
			t.Fatalf("%d tests, counted %+v", len(read.Cases), c)
		}
		if err != nil && c != (v1alpha1.ReportCounts{}) {
			t.Fatalf("an error with counts: %+v", c)
		}
		if c.Failures+c.Skipped > c.Tests || c.Suites > c.Tests || c.Tests < 0 {
			t.Fatalf("counts that cannot be: %+v", c)
		}
	})
}
