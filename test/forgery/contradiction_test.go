package forgery

import (
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
	"github.com/ai-dossier/zt-operator/internal/verdict"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
)

// hooked are files by which each runner executes a statement in its main process before
// any test.
var hooked = map[string]func(statement string) files{
	"jest": func(statement string) files {
		return files{
			"jest.config.js": "module.exports = { globalSetup: '<rootDir>/main.js' };\n",
			"main.js":        "module.exports = async () => { " + statement + " };\n",
		}
	},
	"mocha": func(statement string) files { return files{"setup.js": statement + "\n"} },
	"vitest": func(statement string) files {
		return files{
			"vitest.config.js": "export default { test: { globalSetup: ['./main.js'] } };\n",
			"main.js":          "export default () => { " + statement + " };\n",
		}
	},
}

// What real runners report and how they end, when both agree and when they are made not to.
func TestExitStatusAndReportMustAgree(t *testing.T) {
	const fixed, bug = "Array.from(text).slice(0, limit).join('')", "text.slice(0, limit)"
	cases := []struct {
		name, source, statement string
		want                    v1alpha1.Classification
		problem                 string
	}{
		{"all tests pass", fixed, "", v1alpha1.ClassPassed, ""},
		{"tests fail", bug, "", v1alpha1.ClassFailed, ""},
		{"it exits 0 and tests fail", bug, "process.on('exit', () => process.reallyExit(0));", v1alpha1.ClassInconclusive, "it exited 0"},
		{"it exits 1 and no test fails", fixed, "process.on('exit', () => process.reallyExit(1));", v1alpha1.ClassInconclusive, "no failing test"},
		// The VM has run all tests before: their report is no report of this.
		{"it ends before any test", fixed, "process.reallyExit(0);", v1alpha1.ClassInconclusive, ""},
		{"a signal ends it", fixed, "process.kill(process.pid, 'SIGKILL');", v1alpha1.ClassInconclusive, ""},
	}
	for _, k := range kits {
		hook := hooked[k.name]
		if hook == nil {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			k.installed(t)
			t.Parallel()
			n := &native{t: t, kit: k, root: t.TempDir(), trees: map[string]files{"c": k.project(t)}}
			for _, c := range cases {
				changed := hook(c.statement)
				changed["src/cut.js"] = strings.ReplaceAll(k.project(t)["src/cut.js"], bug, c.source)
				got := n.suite(changed)
				if got.Class != c.want || !strings.Contains(got.Problem, c.problem) || (got.Problem == "") != (c.want != v1alpha1.ClassInconclusive) {
					t.Errorf("%s: %s, %q, %+v; want %s, %q", c.name, got.Class, got.Problem, got.Counts(), c.want, c.problem)
				}
			}
		})
	}
}

// suite runs the plan's suite in a VM with changed files.
func (n *native) suite(changed files) verdict.Reading {
	vm := hypervisor.Config{Dir: "c"}
	n.workspace(vm)
	for name, content := range changed {
		n.put(vm, brokerproto.Put{Path: name, Data: []byte(content)})
	}
	detection, err := ecosystem.Detect(tree(n.trees["c"], '1').Root)
	if err != nil {
		n.t.Fatal(err)
	}
	command := ecosystem.PlanFor(detection, n.kit.runtime, nil, "").Suite
	reply := n.run(vm, brokerproto.Exec{Argv: command.Argv, Env: command.Env, Report: true})
	return verdict.ClassifyResult(reply.Result, true)
}
