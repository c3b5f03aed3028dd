package ecosystem

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/junit"
	"github.com/ai-dossier/zt-operator/internal/testneeds"
)

// TestRealNodeWritesOneReport runs the real Node with the plan's variables: two test
// files, one of which starts Node processes of its own, must end in one report.
func TestRealNodeWritesOneReport(t *testing.T) {
	node := testneeds.Tool(t, "node")
	dir := t.TempDir()
	write(t, dir, "a.test.js", `
		const { describe, it, test } = require('node:test');
		const { spawnSync } = require('node:child_process');
		test('its own children print what they print', () => {
			const child = spawnSync(process.execPath, ['-p', '6 * 7'], { encoding: 'utf8' });
			require('node:assert').equal(child.stdout, '42\n');
		});
		describe('a suite', () => { it('passes', () => {}); it.skip('is skipped', () => {}); });`)
	write(t, dir, "b.test.js", `require('node:test').test('fails', () => { throw new Error('as it should'); });`)
	write(t, dir, "c.test.js", `require('node:test').test('ends the process', () => process.exit(0));`)

	report := filepath.Join(dir, "report.xml")
	cmd := exec.Command(node, "--test")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	for name, value := range npmPlan().Suite.Env {
		cmd.Env = append(cmd.Env, name+"="+strings.ReplaceAll(value, brokerproto.ReportFile, report))
	}
	output, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("node ended with %v:\n%s", err, output)
	}
	data, err := os.ReadFile(report)
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	counts, err := junit.Parse(data)
	want := v1alpha1.ReportCounts{Suites: 2, Tests: 5, Failures: 1, Skipped: 2}
	if err != nil || counts != want {
		t.Errorf("got %+v, %v; want %+v of\n%s", counts, err, want, data)
	}
	if !strings.Contains(string(output), "its own children") || strings.Contains(string(output), "\x1b") {
		t.Errorf("the output is not plain text for people:\n%s", output)
	}
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
