package ecosystem

import (
	"reflect"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

func npmPlan(targets ...string) Plan {
	return PlanFor(Detection{Ecosystem: v1alpha1.EcosystemNPM}, v1alpha1.Runtime{}, targets, "http://127.0.0.1:7481/")
}

func planOf(eco v1alpha1.Ecosystem, targets ...string) Plan {
	return PlanFor(Detection{Ecosystem: eco}, v1alpha1.Runtime{}, targets, "http://127.0.0.1:7481/")
}

func commands(p Plan) []Command {
	all := append(append([]Command{}, p.Provisioning...), p.Prepare...)
	return append(all, p.Suite, p.Regression)
}

func TestNPMPlan(t *testing.T) {
	want := []struct {
		name    string
		argv    []string
		phase   brokerproto.Phase
		network brokerproto.Network
		report  bool
	}{
		{CommandInstall, []string{"npm", "ci", "--ignore-scripts", "--no-fund"}, brokerproto.PhaseProvisioning, brokerproto.NetworkPackageProxy, false},
		{CommandRebuild, []string{"npm", "rebuild"}, brokerproto.PhaseVerification, brokerproto.NetworkNone, false},
		{CommandSuite, []string{"npm", "test"}, brokerproto.PhaseVerification, brokerproto.NetworkNone, true},
		{CommandRegression, []string{"npm", "test", "--", "test/a.test.js", "test/b.test.js"}, brokerproto.PhaseVerification, brokerproto.NetworkNone, true},
	}
	got := commands(npmPlan("test/a.test.js", "test/b.test.js"))
	if len(got) != len(want) {
		t.Fatalf("%d commands, want %d", len(got), len(want))
	}
	for i, w := range want {
		c := got[i]
		if c.Name != w.name || !reflect.DeepEqual(c.Argv, w.argv) || c.Phase != w.phase || c.Network != w.network || c.Report != w.report {
			t.Errorf("command %d: got %+v, want %+v", i, c, w)
		}
	}
}

func TestOnlyProvisioningKnowsTheMirror(t *testing.T) {
	for _, c := range commands(npmPlan("a.test.js")) {
		mirror := c.Env["npm_config_registry"]
		offline := c.Env["npm_config_offline"]
		if c.Phase == brokerproto.PhaseProvisioning {
			if mirror != "http://127.0.0.1:7481/" || offline != "" || c.Env["npm_config_ignore_scripts"] != "true" {
				t.Errorf("%s: mirror %q, offline %q", c.Name, mirror, offline)
			}
			continue
		}
		if mirror != "" || offline != "true" {
			t.Errorf("%s: mirror %q, offline %q", c.Name, mirror, offline)
		}
		if value, ok := c.Env["HTTPS_PROXY"]; !ok || value != "" {
			t.Errorf("%s inherits a proxy", c.Name)
		}
	}
}

func TestOnlyTestsHaveAReporter(t *testing.T) {
	for _, c := range commands(npmPlan("a.test.js")) {
		_, ok := c.Env["NODE_OPTIONS"]
		if ok != c.Report {
			t.Errorf("%s: NODE_OPTIONS set: %v, reports: %v", c.Name, ok, c.Report)
		}
		if ok && !strings.Contains(c.Env["NODE_OPTIONS"], "--test-reporter-destination="+brokerproto.ReportFile+" ") {
			t.Errorf("%s reports elsewhere: %s", c.Name, c.Env["NODE_OPTIONS"])
		}
	}
}

func TestPlansFitTheBroker(t *testing.T) {
	targets := make([]string, 32)
	for i := range targets {
		targets[i] = strings.Repeat("t", 255)
	}
	var all []Command
	for _, eco := range []v1alpha1.Ecosystem{v1alpha1.EcosystemNPM, v1alpha1.EcosystemPip, v1alpha1.EcosystemUV} {
		all = append(all, commands(planOf(eco, targets...))...)
	}
	for _, runner := range []Runner{RunnerJest, RunnerMocha, RunnerVitest} {
		detection := Detection{Ecosystem: v1alpha1.EcosystemNPM, Runner: runner}
		all = append(all, commands(PlanFor(detection, v1alpha1.Runtime{}, targets, "http://127.0.0.1:7481/"))...)
	}
	for _, c := range all {
		argument, environment := 0, 0
		for _, a := range c.Argv {
			argument += len(a) + 1
		}
		for name, value := range c.Env {
			environment += len(name) + len(value) + 2
		}
		if len(c.Argv) > brokerproto.MaxArgs || argument > brokerproto.MaxArgBytes {
			t.Errorf("%s: %d arguments, %d bytes", c.Name, len(c.Argv), argument)
		}
		if len(c.Env) > brokerproto.MaxEnv || environment > brokerproto.MaxEnvBytes {
			t.Errorf("%s: %d variables, %d bytes", c.Name, len(c.Env), environment)
		}
	}
}

func TestCommandsDoNotShareTheirEnvironment(t *testing.T) {
	p := npmPlan("a.test.js")
	p.Suite.Env["NODE_OPTIONS"] = "changed"
	if p.Regression.Env["NODE_OPTIONS"] == "changed" {
		t.Error("a change of one command's environment reaches another")
	}
}
