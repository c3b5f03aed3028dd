//go:build proxy

package proxy

import (
	"strings"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/lockindex"
	"github.com/ai-dossier/zt-operator/internal/policy"
	"github.com/ai-dossier/zt-operator/internal/registries"
)

// pythonProjects are installed with each manager; imports are what is to be there then.
var pythonProjects = map[v1alpha1.Ecosystem]struct{ folder, imports string }{
	v1alpha1.EcosystemPip: {"testdata/python", "jinja2, markupsafe._speedups, yaml, ruamel.yaml, typing_extensions, pytest"},
	v1alpha1.EcosystemUV:  {"../../fixtures/ecosystem/uv/base", "jinja2, markupsafe._speedups, yaml, markdown_it, slugify, pytest"},
}

const envPython = brokerproto.StateDir + "/env/bin/python"

func TestPythonInstallsFromTheRealIndexThroughMirrorAndSquid(t *testing.T) {
	for ecosystem, project := range pythonProjects {
		t.Run(string(ecosystem), func(t *testing.T) {
			top := newTopology(t)
			s := realSquidFor(t, top, ecosystem, registries.PyPIHost)
			m := startPyPIMirror(t, top, s, folder(t, 0o777))
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("squid's log: %s", tailOf(s.log()))
				}
			})
			t.Logf("the mirror answered after %s with %s", m.ready, m.memory())
			for _, round := range []string{"cold", "warm"} {
				begun := time.Now()
				w := provision(t, top, m, "worker-python-3.13", project.folder)
				t.Logf("%s, %s: %s", ecosystem, round, time.Since(begun))
				if out, err := w.run(t, envPython, "-I", "-c", "import "+project.imports); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			}
			t.Logf("afterwards the mirror has %s", m.memory())
			t.Run("the log shows only admitted requests, each file once", func(t *testing.T) {
				egress := s.egress(t)
				t.Logf("%+v", egress)
				// One page and one file for each of ten to twelve packages, and metadata.
				if egress.Admitted < 20 || egress.Admitted > 36 || egress.Denied+egress.Failed+egress.Redirects != 0 || egress.Truncated {
					t.Errorf("egress is %+v", egress)
				}
				for _, host := range egress.Hosts {
					if host.Host != registries.PyPIHost && host.Host != registries.FilesHost {
						t.Errorf("hosts are %v", egress.Hosts)
					}
				}
			})
			t.Run("the evaluator admits what Squid admitted", func(t *testing.T) {
				e, err := policy.NewEvaluator(policy.Default(), policy.SquidParams{MirrorIP: mirrorIP, Ecosystem: ecosystem})
				if err != nil {
					t.Fatal(err)
				}
				if audit, err := e.Audit(strings.NewReader(s.log()), 16<<20); err != nil || audit.Violations != 0 || audit.Judged < 20 {
					t.Errorf("%+v, %v", audit, err)
				}
			})
			t.Run("every file in the mirror's cache is one of the lockfile", func(t *testing.T) {
				findings := auditMirror(t, ecosystem, m.storage, project.folder)
				t.Logf("%v", findings)
				if findings[lockindex.Admitted] < 10 || len(findings) > 2 || len(findings) == 2 && findings[lockindex.MetadataOnly] == 0 {
					t.Errorf("%v, want admitted files and metadata only", findings)
				}
			})
			t.Run("a host of another ecosystem is denied", func(t *testing.T) {
				reply := s.send(top, exchange{connect: npm, http: get("/semver")})
				if class, rule := s.verdict(reply.port); class != "denied" || rule != policy.RuleHost {
					t.Errorf("%s %s", class, rule)
				}
			})
		})
	}
}
