//go:build vm

package vm_test

import (
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
	"github.com/ai-dossier/zt-operator/internal/junit"
	"github.com/ai-dossier/zt-operator/internal/sentinel"
	"github.com/ai-dossier/zt-operator/internal/verdict"
)

const (
	forgeries  = "../../fixtures/forgeries/npm"
	target     = "test/emoji.test.js"
	honestFix  = "export const cut = (text, limit) => Array.from(text).slice(0, limit).join('');\n"
	honestBug  = "export const cut = (text, limit) => text.slice(0, limit);\n"
	assertHold = "import assert from 'node:assert/strict';\nassert.equal = () => {};\n" + honestBug
)

// The engine's commands in a real VM: what a fix reports, and what forgeries do.
func TestSentinelInAVM(t *testing.T) {
	v := newMachine(t, forgeryProject(t)).boot(t, brokerproto.PhaseVerification)
	outlives, err := os.ReadFile(filepath.Join(forgeries, "report-after.txt"))
	must(t, err)
	_, afterRun, _ := strings.Cut(string(outlives), "-- src/cut.js --\n")
	for name, tc := range map[string]struct {
		source               string
		regression, sentinel v1alpha1.Classification
		unreported           int
	}{
		"a fix":                              {honestFix, v1alpha1.ClassPassed, v1alpha1.ClassFailed, 0},
		"a patched assertion":                {assertHold, v1alpha1.ClassPassed, v1alpha1.ClassFailed, 2},
		"a process that outlives the runner": {afterRun, "", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			must(t, v.Put(t.Context(), brokerproto.Put{Path: "src/cut.js", Mode: 0o644, Data: []byte(tc.source)}))
			regression := v.test(target)
			if tc.regression == "" {
				if regression.Class == v1alpha1.ClassPassed {
					t.Errorf("it passes: %+v", regression)
				}
				return
			}
			twin := v.plant(t)
			planted := v.test(twin.Path)
			if regression.Class != tc.regression || planted.Class != tc.sentinel {
				t.Fatalf("regression %s (%s), sentinel %s (%s)", regression.Class, regression.Problem, planted.Class, planted.Problem)
			}
			if got := reported(twin, planted.Report.Cases); got != len(twin.Planted)-tc.unreported {
				t.Errorf("%d of %d planted tests reported as failed, want all but %d: %+v", got, len(twin.Planted), tc.unreported, planted.Report.Cases)
			}
		})
	}
}

// Reading back what judges the candidate must cost little beside a test.
func TestManyFilesAreReadBackFast(t *testing.T) {
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("test/%03d.test.js", i)] = strings.Repeat("x", 4000)
	}
	v := newMachine(t, files).boot(t, brokerproto.PhaseVerification)
	start := time.Now()
	for name := range files {
		if _, err := v.Get(t.Context(), brokerproto.Get{Path: name}); err != nil {
			t.Fatal(err)
		}
	}
	took := time.Since(start)
	t.Logf("300 files of 4 kB read back in %s", took)
	if took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
}

func forgeryProject(t *testing.T) map[string]string {
	t.Helper()
	root, files := filepath.Join(forgeries, "project"), map[string]string{}
	must(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		files[name] = string(content)
		return err
	}))
	return files
}

// test runs a test file as the regression command does.
func (v *vm) test(file string) verdict.Reading {
	v.t.Helper()
	command := ecosystem.PlanFor(ecosystem.Detection{Ecosystem: v1alpha1.EcosystemNPM}, v1alpha1.Runtime{}, []string{file}, "").Regression
	result := v.run(func(e *brokerproto.Exec) { e.Env, e.Report = command.Env, true }, command.Argv...)
	return verdict.ClassifyResult(result, true)
}

func (v *vm) plant(t *testing.T) sentinel.Twin {
	t.Helper()
	content, err := v.Get(t.Context(), brokerproto.Get{Path: target})
	must(t, err)
	twin, err := sentinel.New(target, content, []string{"a surrogate pair is never cut in half", "the limit counts characters"}, rand.Reader)
	must(t, err)
	must(t, v.Put(t.Context(), brokerproto.Put{Path: twin.Path, Mode: 0o644, Data: twin.Content}))
	return twin
}

func reported(twin sentinel.Twin, cases []junit.Case) int {
	count := 0
	for _, title := range twin.Planted {
		for _, c := range cases {
			if c.Name == title && c.Status == junit.Failed {
				count++
			}
		}
	}
	return count
}
