package junit

import (
	"os"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// What the runners write of the same files: ids name the file where the runner tells it.
func TestNamesTheTestsOfRealRunners(t *testing.T) {
	for file, want := range map[string][]Case{
		"jest-30.json": {
			{"test/a.test.js > suite > inner > odd", "inner > odd", Passed, false},
			{"test/a.test.js > suite > skipped", "skipped", Skipped, false},
			{"test/b.test.js > top level", "top level", Passed, false},
			{"test/c.test.js > hooked > never runs", "never runs", Failed, false},
			{"other/d.test.js", "other/d.test.js", Failed, true},
		},
		"mocha-12.xml": {
			{"test/a.test.js > Mocha Tests > suite > inner > odd", "inner > odd", Passed, false},
			{"test/b.test.js > Mocha Tests > top level", "top level", Passed, false},
			{`Mocha Tests > hooked > "before all" hook for "never runs"`, `"before all" hook for "never runs"`, Failed, true},
		},
		"mocha-9.xml": {{"Mocha Tests > suite > fails", "fails", Failed, false}},
		"vitest-4.xml": {
			{"test/a.test.mjs > suite > inner > odd", "suite > inner > odd", Passed, false},
			{"test/c.test.mjs > hooked", "hooked", Failed, true},
			{"other/d.test.mjs > other/d.test.mjs", "other/d.test.mjs", Failed, true},
		},
		"vitest-1.xml": {{"test/c.test.mjs > hooked", "hooked", Failed, true}},
		"node-24.xml": {
			{"test/a.test.js > top", "top", Passed, false},
			{"test/a.test.js > suite > bad", "bad", Failed, false},
			{"nt/test/b.test.js", "nt/test/b.test.js", Skipped, true},
		},
	} {
		t.Run(file, func(t *testing.T) {
			data, err := os.ReadFile("testdata/" + file)
			if err != nil {
				t.Fatal(err)
			}
			report, err := Read(data)
			if err != nil {
				t.Fatal(err)
			}
			got := map[Case]bool{}
			for _, c := range report.Cases {
				got[c] = true
			}
			for _, c := range want {
				if !got[c] {
					t.Errorf("there is no %+v in %+v", c, report.Cases)
				}
			}
		})
	}
}

const jestFile = `{"testResults":[{"name":"/workspace/a.test.js","status":"passed","assertionResults":[%]}]}`

func TestReadsJest(t *testing.T) {
	test := func(more string) string {
		return strings.Replace(jestFile, "%", `{"title":"t","ancestorTitles":[]`+more+`}`, 1)
	}
	for name, c := range map[string]struct {
		report string
		want   v1alpha1.ReportCounts
	}{
		"a passing test":                        {test(`,"status":"passed"`), v1alpha1.ReportCounts{Suites: 1, Tests: 1}},
		"a failing test":                        {test(`,"status":"failed"`), v1alpha1.ReportCounts{Suites: 1, Tests: 1, Failures: 1}},
		"a test to do":                          {test(`,"status":"todo"`), v1alpha1.ReportCounts{Suites: 1, Tests: 1, Skipped: 1}},
		"a status of tomorrow is no pass":       {test(`,"status":"fine"`), v1alpha1.ReportCounts{Suites: 1, Tests: 1, Skipped: 1}},
		"a test that is expected to fail":       {test(`,"status":"passed","failing":true`), v1alpha1.ReportCounts{Suites: 1, Tests: 1, Skipped: 1}},
		"no file":                               {`{"testResults":[]}`, v1alpha1.ReportCounts{}},
		"counts that lie":                       {`{"numTotalTests":9,"success":true,"testResults":[]}`, v1alpha1.ReportCounts{}},
		"a file without a test":                 {strings.Replace(jestFile, "%", "", 1), v1alpha1.ReportCounts{}},
		"a file that fails without a test":      {strings.NewReplacer("%", "", `"passed"`, `"failed"`).Replace(jestFile), v1alpha1.ReportCounts{Suites: 1, Tests: 1, Failures: 1}},
		"a file that fails beside passing ones": {strings.Replace(test(`,"status":"passed"`), `js","status":"passed"`, `js","status":"failed"`, 1), v1alpha1.ReportCounts{Suites: 1, Tests: 2, Failures: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := Parse([]byte(c.report)); err != nil || got != c.want {
				t.Errorf("got %+v, %v; want %+v of %s", got, err, c.want, c.report)
			}
		})
	}
}

func TestRefusesJSONThatIsNotJests(t *testing.T) {
	for name, report := range map[string]string{
		"not JSON":                `{"testResults":`,
		"no list of files":        `{"testResults":{}}`,
		"another runner's":        `{"stats":{},"tests":[]}`,
		"a file that is none":     `{"testResults":[1]}`,
		"a file without tests":    `{"testResults":[{"name":"a","status":"passed"}]}`,
		"a test that is none":     strings.Replace(jestFile, "%", `"t"`, 1),
		"a test without a status": strings.Replace(jestFile, "%", `{"title":"t","ancestorTitles":[]}`, 1),
		"a member twice":          strings.Replace(jestFile, "%", `{"title":"t","ancestorTitles":[],"status":"failed","status":"passed"}`, 1),
		"two reports":             `{"testResults":[]}{"testResults":[]}`,
		"an interrupted run":      `{"wasInterrupted":true,"testResults":[]}`,
		"a deep one":              `{"testResults":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			if r, err := Read([]byte(report)); err == nil {
				t.Errorf("read %+v", r)
			}
		})
	}
}
