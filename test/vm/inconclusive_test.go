//go:build vm

package vm_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
	"github.com/ai-dossier/zt-operator/internal/lifecycle"
	"github.com/ai-dossier/zt-operator/internal/verdict"
	"github.com/ai-dossier/zt-operator/test/builders"
	"github.com/ai-dossier/zt-operator/test/proof"
)

const (
	honestTest = "node --test test/cut.test.js"
	hangs      = "node --test test/hang.test.js"
	hang       = `import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
test('never ends', () => {
  writeFileSync('began', '');
  for (;;);
});
`
)

// TestProofInconclusive: a command that was cut off, or whose report is missing or
// cannot be read, is no test result, whatever it exits with.
func TestProofInconclusive(t *testing.T) {
	record := proof.New(t, "ac4", "AC4",
		"a test that times out, a run that writes no report and a report that cannot be read are inconclusive; three such verdicts use up the repairs")
	v := newMachine(t, forgeryProject(t)).boot(t, brokerproto.PhaseVerification)
	begun := time.Now()
	if command := v.suite(honestTest, time.Minute); command.Classification != v1alpha1.ClassPassed {
		t.Fatalf("the suite does not pass: %s", proof.Command(&command))
	}
	// Enough for the test to begin, however slow the machine.
	short := time.Since(begun) + 5*time.Second
	must(t, v.Put(t.Context(), brokerproto.Put{Path: "test/hang.test.js", Mode: 0o644, Data: []byte(hang)}))
	var verdicts []v1alpha1.Result
	for _, tc := range []struct{ name, script, seen string }{
		{"1 a test that times out", hangs,
			"inconclusive, timed out; its time limit ended it"},
		{"2 a run that writes no report", "node src/words.js",
			"inconclusive, exit 0; it wrote no test report: its runner does not follow the reporter it was given"},
		{"3 a report that is cut off", honestTest + " && printf '<testsuites><testsuite' > " + brokerproto.ReportFile,
			"inconclusive, exit 0; the report is not well-formed XML"},
		{"4 a report that is a link", honestTest + " && ln -sf /etc/passwd " + brokerproto.ReportFile,
			"inconclusive, exit 0; its test report is not a regular file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			limit := time.Minute
			if tc.script == hangs {
				limit = short
			}
			command := v.suite(tc.script, limit)
			outcome := judged(command)
			verdicts = append(verdicts, outcome.Result)
			record.Add(t, proof.Row{
				Name: tc.name, Submitted: map[string]string{"scripts.test": tc.script},
				Expected: proof.Facts{
					"Candidate/suite": tc.seen, "subject": "Candidate/suite",
					"outcome": "inconclusive, command_inconclusive", "remedy in the catalogue": "yes",
				},
				Seen: proof.Outcome(&outcome).Plus(proof.Facts{"Candidate/suite": proof.Command(&command)}),
				Ran:  booted(t),
			})
		})
	}
	if _, err := v.Get(t.Context(), brokerproto.Get{Path: "began"}); err != nil {
		t.Errorf("no test had begun when its time was up: %v", err)
	}
	first := verdicts[:min(3, len(verdicts))]
	record.Add(t, proof.Row{
		Name: "5 the first three in a session", Submitted: first,
		Expected: proof.Facts{"session": "implementing, implementing, failed (execution_failed)"},
		Seen:     proof.Facts{"session": session(t, first)},
	})
}

// judged is the outcome of a run in which everything but the candidate's suite is well.
func judged(suite v1alpha1.CommandStatus) v1alpha1.Outcome {
	e := builders.Execution(1, "").Proven().Finished().Object()
	for i := range e.Trees[2].Commands {
		if e.Trees[2].Commands[i].Name == suite.Name {
			e.Trees[2].Commands[i] = suite
		}
	}
	outcome, _ := verdict.Judge(e, builders.Run("ac4").Object().Spec.Proof)
	return outcome
}

// session says where the verdicts lead a session, one after the other.
func session(t *testing.T, verdicts []v1alpha1.Result) string {
	t.Helper()
	history := []lifecycle.Event{lifecycle.PlanApproved}
	var states []string
	for _, result := range verdicts {
		decision, err := lifecycle.ApplyVerification(history, result)
		must(t, err)
		history = append(history, decision.Event)
		state := string(decision.State)
		if decision.Reason != "" {
			state += " (" + decision.Reason + ")"
		}
		states = append(states, state)
	}
	return strings.Join(states, ", ")
}

// booted are the digests of a VM's files, after which they are named.
func booted(t *testing.T) map[string]string {
	t.Helper()
	digests := map[string]string{}
	for part, variable := range map[string]string{"kernel": "ZT_VM_KERNEL", "initrd": "ZT_VM_INITRD", "root": "ZT_VM_ROOT"} {
		digests[part] = "sha256:" + filepath.Base(artifact(t, variable))
	}
	return digests
}

// suite runs npm's suite command with another scripts.test and records it as the
// engine does.
func (v *vm) suite(script string, limit time.Duration) v1alpha1.CommandStatus {
	v.t.Helper()
	manifest := strings.Replace(forgeryProject(v.t)["package.json"], "node --test", script, 1)
	must(v.t, v.Put(v.t.Context(), brokerproto.Put{Path: "package.json", Mode: 0o644, Data: []byte(manifest)}))
	plan := ecosystem.PlanFor(ecosystem.Detection{Ecosystem: v1alpha1.EcosystemNPM}, v1alpha1.Runtime{}, nil, "").Suite
	result := v.run(func(e *brokerproto.Exec) {
		e.Env, e.Report, e.TimeoutMillis = plan.Env, true, limit.Milliseconds()
	}, plan.Argv...)
	reading := verdict.ClassifyResult(result, true)
	command := v1alpha1.CommandStatus{
		Name: plan.Name, Argv: plan.Argv, Phase: v1alpha1.VMVerification, Network: v1alpha1.NetworkNone,
		Signal: int32(result.Signal), TimedOut: result.TimedOut,
		Classification: reading.Class, Report: reading.Counts(), Problem: reading.Problem,
	}
	if result.Signal == 0 && !result.TimedOut {
		code := int32(result.ExitCode)
		command.ExitCode = &code
	}
	return command
}
