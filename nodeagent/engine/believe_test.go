package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
	"github.com/ai-dossier/zt-operator/internal/verdict"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor/fake"
	"github.com/ai-dossier/zt-operator/nodeagent/source"
)

// onCandidate answers the candidate's command of a kind, and the others well.
func (h *host) onCandidate(is func(brokerproto.Exec) bool, reply func() fake.Reply) {
	good := h.guest.Exec
	h.guest.Exec = func(c hypervisor.Config, e brokerproto.Exec) fake.Reply {
		if treeOf(c) == v1alpha1.TreeCandidate && is(e) {
			return reply()
		}
		return good(c, e)
	}
}

func isRegression(e brokerproto.Exec) bool { return e.Report && slices.Contains(e.Argv, target) }
func isSuite(e brokerproto.Exec) bool      { return e.Report && len(e.Argv) == 2 }
func isSentinel(e brokerproto.Exec) bool   { return e.Report && !isRegression(e) && !isSuite(e) }

func reporting(exit int, cases string) func() fake.Reply {
	return func() fake.Reply {
		return fake.Reply{Result: brokerproto.ExecResult{ExitCode: exit, Report: &brokerproto.Report{
			Data: []byte("<testsuites>" + cases + "</testsuites>"),
		}}}
	}
}

func TestExecuteTakesNoForgedReportForAResult(t *testing.T) {
	for name, tc := range map[string]struct {
		is    func(brokerproto.Exec) bool
		reply func() fake.Reply
		want  v1alpha1.Detail
	}{
		"a renamed regression test": {isRegression, reporting(0, `<testsuite name="s"><testcase name="other"/></testsuite>`), v1alpha1.DetailTestMissing},
		"a skipped regression test beside one that passes": {isRegression, reporting(0,
			`<testsuite name="s"><testcase name="t"><skipped/></testcase><testcase name="other"/></testsuite>`), v1alpha1.DetailRegressionSkipped},
		"a suite without a test of the base": {isSuite, reporting(0, `<testsuite name="s"><testcase name="other"/></testsuite>`), v1alpha1.DetailTestMissing},
		"a suite that skips a test of the base": {isSuite, reporting(0,
			`<testsuite name="s"><testcase name="t"><skipped type="todo"/></testcase><testcase name="other"/></testsuite>`), v1alpha1.DetailTestSkipped},
		"planted tests that pass":       {isSentinel, passed, v1alpha1.DetailSentinelNotReported},
		"planted tests that are absent": {isSentinel, failed, v1alpha1.DetailSentinelNotReported},
		"no report on planted tests":    {isSentinel, func() fake.Reply { return fake.Reply{} }, v1alpha1.DetailSentinelNotReported},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.onCandidate(tc.is, tc.reply)
			record, _, err := h.execute(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			record.State = v1alpha1.ExecutionFinished
			if outcome, final := verdict.Judge(record, proof); outcome.Detail != tc.want || !final {
				t.Errorf("judged %+v (final %v), want %s", outcome, final, tc.want)
			}
		})
	}
}

func TestExecuteFindsCopiesThatDoNotPass(t *testing.T) {
	for name, copies := range map[string]string{
		"failing": `<testsuite name="s"><testcase name="t"><failure/></testcase></testsuite>`,
		"skipped": `<testsuite name="s"><testcase name="t"><skipped/></testcase></testsuite>`,
		"absent":  ``,
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			good := h.guest.Exec
			h.guest.Exec = func(c hypervisor.Config, e brokerproto.Exec) fake.Reply {
				if reply, ok := h.workspace.Sentinel(c, e, copies); ok {
					return reply
				}
				return good(c, e)
			}
			record, _, err := h.execute(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if outcome, _ := verdict.Judge(record, proof); outcome.Detail != v1alpha1.DetailCopyNotPassed {
				t.Errorf("judged %+v", outcome)
			}
		})
	}
}

func TestExecuteRunsNoTestOnATamperedDisk(t *testing.T) {
	for name, tamper := range map[string]func(*host){
		"a target that an install script changed": func(h *host) { h.workspace.Tree[target] += "// forged" },
		"a target that is gone":                   func(h *host) { delete(h.workspace.Tree, target) },
		"a target that became a link": func(h *host) {
			h.guest.Get = func(hypervisor.Config, brokerproto.Get) fake.Reply {
				return fake.Reply{Error: brokerproto.ErrorNotRegular}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			tamper(h)
			record, _, err := h.execute(t.Context())
			if outcome := OutcomeOf(t.Context(), err); err == nil || outcome.Detail != v1alpha1.DetailWorkspaceTampered || outcome.Subject != target {
				t.Errorf("got %+v, %v", outcome, err)
			}
			for _, c := range record.Trees[2].Commands {
				if c.Report != nil {
					t.Errorf("%s ran", c.Name)
				}
			}
		})
	}
}

// The disk is looked at before each command: the regression test's own run could
// have changed what the suite runs.
func TestExecuteFindsWhatARunChangedForTheNext(t *testing.T) {
	h := newHost(t)
	h.onCandidate(isRegression, func() fake.Reply {
		h.workspace.Tree[target] = "forged"
		return passed()
	})
	_, _, err := h.execute(t.Context())
	if outcome := OutcomeOf(t.Context(), err); err == nil || outcome.Detail != v1alpha1.DetailWorkspaceTampered {
		t.Errorf("got %+v, %v", outcome, err)
	}
}

func TestExecuteRunsNoProgramThatWasPutInTheWay(t *testing.T) {
	for name, reply := range map[string]fake.Reply{
		"a file": {Data: []byte("#!/bin/sh")},
		"a link": {Error: brokerproto.ErrorNotRegular},
	} {
		h := newHost(t)
		h.guest.Get = func(c hypervisor.Config, get brokerproto.Get) fake.Reply {
			if get.Path == "node_modules/.bin/node" {
				return reply
			}
			return h.workspace.Get(c, get)
		}
		_, _, err := h.execute(t.Context())
		if outcome := OutcomeOf(t.Context(), err); err == nil || outcome.Detail != v1alpha1.DetailWorkspaceTampered {
			t.Errorf("%s: got %+v, %v", name, outcome, err)
		}
	}
}

func TestExecutePlantsOnlyWhereItStillMatters(t *testing.T) {
	h := newHost(t)
	h.onCandidate(isRegression, failed)
	record, boots, err := h.execute(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, request := range boots[len(boots)-1].Requests() {
		if request.Op == brokerproto.OpPut {
			t.Error("a sentinel was planted beside a regression test that fails")
		}
	}
	if outcome, final := verdict.Judge(record, proof); outcome.Detail != v1alpha1.DetailRegressionStillFail || !final {
		t.Errorf("judged %+v, final %v", outcome, final)
	}
}

func TestExecuteRecordsWhatItCompared(t *testing.T) {
	record, _, err := newHost(t).execute(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range record.Trees[2].Commands {
		if c.Report == nil {
			continue
		}
		if c.Comparison == nil || c.Comparison.Expected != 1 || c.Comparison.Passed != 1 || !strings.HasPrefix(c.ResultsDigest, "sha256:") {
			t.Errorf("%s: %+v, digest %q", c.Name, c.Comparison, c.ResultsDigest)
		}
		if (c.Name == "sentinel") != (c.Sentinel != nil) {
			t.Errorf("%s: sentinel %+v", c.Name, c.Sentinel)
		}
	}
}

func TestTrustworthyNamesWhatAFileHides(t *testing.T) {
	roots := func(test, script string) *source.Source {
		root := func(script string) source.Tree {
			return source.Tree{Root: ecosystem.RootFiles{Content: map[string][]byte{"package.json": []byte(`{"scripts":{"test":"` + script + `"}}`)}}}
		}
		return &source.Source{Trees: map[v1alpha1.TreeName]source.Tree{
			v1alpha1.TreeRegressionTest: root(test), v1alpha1.TreeCandidate: root(script),
		}}
	}
	if err := trustworthy(roots("node --test", "node --test"), []v1alpha1.TargetPath{target}); err != nil {
		t.Error(err)
	}
	for name, tc := range map[string]struct {
		source *source.Source
		target v1alpha1.TargetPath
		want   v1alpha1.Detail
	}{
		"a changed script":            {roots("node --test", "true"), target, v1alpha1.DetailProtectedPathChanged},
		"a target that is no program": {roots("a", "a"), "test/cases.txt", v1alpha1.DetailTargetUnsupported},
	} {
		err := trustworthy(tc.source, []v1alpha1.TargetPath{tc.target})
		if outcome := OutcomeOf(t.Context(), err); err == nil || outcome.Detail != tc.want || outcome.Subject == "" {
			t.Errorf("%s: %+v, %v", name, outcome, err)
		}
	}
}
