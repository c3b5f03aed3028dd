package ecosystem

import (
	"slices"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

func TestPythonPlans(t *testing.T) {
	type want struct {
		name, argv string
		phase      brokerproto.Phase
		network    brokerproto.Network
		report     bool
	}
	provisioning, verification := brokerproto.PhaseProvisioning, brokerproto.PhaseVerification
	none, proxy := brokerproto.NetworkNone, brokerproto.NetworkPackageProxy
	const uvRun = "/usr/local/bin/uv run --frozen --no-config --no-python-downloads --python /usr/local/bin/python --offline --no-sync pytest"
	cases := map[v1alpha1.Ecosystem][]want{
		v1alpha1.EcosystemPip: {
			{CommandVenv, "/usr/local/bin/python -I -m venv --clear --without-pip /opt/ztfc/env", provisioning, none, false},
			{CommandInstall, "/usr/local/bin/python -I -m pip --python /opt/ztfc/env/bin/python install --require-hashes --no-deps --only-binary=:all: -r requirements.txt", provisioning, proxy, false},
			{CommandSuite, "/opt/ztfc/env/bin/python -m pytest", verification, none, true},
			{CommandRegression, "/opt/ztfc/env/bin/python -m pytest tests/test_a.py", verification, none, true},
		},
		v1alpha1.EcosystemUV: {
			{CommandExport, "/usr/local/bin/uv export --frozen --offline --no-config --no-python-downloads --format requirements.txt --no-emit-project --no-header --output-file /opt/ztfc/uv-requirements.txt", provisioning, none, false},
			{CommandVenv, "/usr/local/bin/uv venv --offline --no-config --no-project --no-python-downloads --python /usr/local/bin/python /opt/ztfc/env", provisioning, none, false},
			{CommandInstall, "/usr/local/bin/uv pip install --no-config --no-python-downloads --python /opt/ztfc/env/bin/python --require-hashes --no-deps --only-binary :all: --index-url http://127.0.0.1:7481/index/ -r /opt/ztfc/uv-requirements.txt", provisioning, proxy, false},
			{CommandSuite, uvRun, verification, none, true},
			{CommandRegression, uvRun + " tests/test_a.py", verification, none, true},
		},
	}
	for eco, wanted := range cases {
		got := commands(planOf(eco, "tests/test_a.py"))
		if len(got) != len(wanted) {
			t.Fatalf("%s: %d commands, want %d", eco, len(got), len(wanted))
		}
		for i, w := range wanted {
			c := got[i]
			if c.Name != w.name || strings.Join(c.Argv, " ") != w.argv || c.Phase != w.phase || c.Network != w.network || c.Report != w.report {
				t.Errorf("%s, command %d: got %+v, want %+v", eco, i, c, w)
			}
		}
	}
}

func TestOnlyTheInstallationOfPythonKnowsTheMirror(t *testing.T) {
	for _, eco := range []v1alpha1.Ecosystem{v1alpha1.EcosystemPip, v1alpha1.EcosystemUV} {
		for _, c := range commands(planOf(eco, "tests/test_a.py")) {
			text := strings.Join(c.Argv, " ") + c.Env["PIP_INDEX_URL"]
			if knows := strings.Contains(text, "http://127.0.0.1:7481/index/"); knows != (c.Name == CommandInstall) {
				t.Errorf("%s %s: knows the mirror: %v", eco, c.Name, knows)
			}
			offline := c.Env["PIP_NO_INDEX"] == "1" && c.Env["UV_OFFLINE"] == "1"
			if offline != (c.Phase == brokerproto.PhaseVerification) {
				t.Errorf("%s %s: offline: %v", eco, c.Name, offline)
			}
			if reports := strings.Contains(c.Env["PYTEST_ADDOPTS"], "--junitxml="+brokerproto.ReportFile+" "); reports != c.Report {
				t.Errorf("%s %s: reports: %v", eco, c.Name, reports)
			}
		}
	}
}

func TestNamesOfCommandsAreUniqueInAPlan(t *testing.T) {
	for _, eco := range []v1alpha1.Ecosystem{v1alpha1.EcosystemNPM, v1alpha1.EcosystemPip, v1alpha1.EcosystemUV} {
		var names []string
		for _, c := range commands(planOf(eco)) {
			if slices.Contains(names, c.Name) || len(c.Name) > 32 {
				t.Errorf("%s: %s", eco, c.Name)
			}
			names = append(names, c.Name)
		}
	}
}
