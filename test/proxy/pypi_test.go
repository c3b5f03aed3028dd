//go:build proxy

package proxy

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/lockindex"
	"github.com/ai-dossier/zt-operator/internal/policy"
	"github.com/ai-dossier/zt-operator/internal/registries"
)

// mirror is a package mirror that runs as its pod would run it.
type mirror struct {
	address string
	storage string
	pid     int
	ready   time.Duration
	output  *bytes.Buffer
}

func startPyPIMirror(t *testing.T, top *topology, s *squid) *mirror {
	t.Helper()
	return startPyPIMirrorIn(t, top, s, folder(t, 0o777))
}

// startPyPIMirrorIn is startPyPIMirror with a storage of the caller's.
func startPyPIMirrorIn(t *testing.T, top *topology, s *squid, storage string) *mirror {
	t.Helper()
	config := folder(t, 0o755)
	if err := os.WriteFile(filepath.Join(config, "ca.crt"), s.caPEM, 0o644); err != nil {
		t.Fatal(err)
	}
	env := policy.ProxpiEnvironment(policy.ProxpiParams{
		Proxy: net.JoinHostPort(squidIP, "3128"), CABundle: "/etc/zt/mirror/ca.crt",
	})
	image := imageConfig(t, "mirror-pypi")
	for _, variable := range image.Env {
		name, value, _ := strings.Cut(variable, "=")
		env[name] = value
	}
	if image.User != "1000:1000" {
		t.Errorf("the image's user is %q", image.User)
	}
	cmd := container{
		namespace: top.mirror, root: imageRoot(t, "mirror-pypi"), env: env,
		mounts: map[string]string{"/etc/zt/mirror": config, "/var/cache/proxpi": storage},
	}.command(t, image.Entrypoint...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the mirror's output: %s", tailOf(output.String()))
		}
	})
	m := &mirror{address: net.JoinHostPort(mirrorIP, fmt.Sprint(policy.ProxpiPort)), storage: storage, pid: cmd.Process.Pid, output: &output}
	for m.get(top, "/health").status != 200 {
		if time.Since(begun) > time.Minute {
			t.Fatalf("the mirror does not answer: %s", tailOf(output.String()))
		}
		time.Sleep(10 * time.Millisecond)
	}
	m.ready = time.Since(begun)
	return m
}

type answer struct {
	status int
	text   string
}

func (m *mirror) get(top *topology, path string) answer { return m.ask(top, "GET", path) }

func (m *mirror) ask(top *topology, method, path string) answer {
	status, text := ask(top, m.address, method+" "+path+" HTTP/1.1\r\nHost: mirror\r\nAccept: */*\r\nConnection: close\r\n\r\n")
	return answer{status, text}
}

// memory is the mirror's resident memory.
func (m *mirror) memory() string {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.pid))
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmRSS:") {
			return strings.TrimSpace(strings.TrimPrefix(line, "VmRSS:"))
		}
	}
	return "unknown"
}

// worker is a Python worker's root in the mirror's namespace, with an empty
// /opt/ztfc and the requirements in /workspace.
func worker(t *testing.T, top *topology) container {
	t.Helper()
	requirements, err := filepath.Abs("testdata/python")
	if err != nil {
		t.Fatal(err)
	}
	workspace := folder(t, 0o755)
	run(t, "cp", filepath.Join(requirements, "requirements.txt"), workspace)
	return container{
		namespace: top.mirror, root: imageRoot(t, "worker-python-3.13"),
		mounts: map[string]string{"/opt/ztfc": folder(t, 0o777), "/workspace": workspace},
		env:    map[string]string{"PIP_CONFIG_FILE": "/dev/null", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_CACHE_DIR": "1", "UV_NO_CACHE": "1"},
	}
}

const workerPython, envPython = "/usr/local/bin/python", "/opt/ztfc/env/bin/python"

// installers are the commands of a plan, for each ecosystem.
var installers = map[v1alpha1.Ecosystem]func(index string) [][]string{
	v1alpha1.EcosystemPip: func(index string) [][]string {
		return [][]string{
			{workerPython, "-I", "-m", "venv", "--clear", "/opt/ztfc/env"},
			{envPython, "-I", "-m", "pip", "install", "--quiet", "--require-hashes", "--no-deps", "--only-binary=:all:",
				"--index-url", index, "--trusted-host", mirrorIP, "-r", "/workspace/requirements.txt"},
		}
	},
	v1alpha1.EcosystemUV: func(index string) [][]string {
		return [][]string{
			{"/usr/local/bin/uv", "venv", "--quiet", "--clear", "--no-config", "--no-python-downloads", "--python", workerPython, "/opt/ztfc/env"},
			{"/usr/local/bin/uv", "pip", "install", "--quiet", "--no-config", "--python", envPython, "--require-hashes", "--no-deps",
				"--only-binary", ":all:", "--index-url", index, "-r", "/workspace/requirements.txt"},
		}
	},
}

func TestPythonInstallsFromTheRealIndexThroughMirrorAndSquid(t *testing.T) {
	for ecosystem, install := range installers {
		t.Run(string(ecosystem), func(t *testing.T) {
			top := newTopology(t)
			s := realSquidFor(t, top, ecosystem, registries.PyPIHost)
			m := startPyPIMirror(t, top, s)
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("squid's log: %s", tailOf(s.log()))
				}
			})
			t.Logf("the mirror answered after %s with %s", m.ready, m.memory())
			index := "http://" + m.address + "/index/"
			for _, round := range []string{"cold", "warm"} {
				w := worker(t, top)
				begun := time.Now()
				for _, argv := range install(index) {
					if _, err := w.run(t, argv...); err != nil {
						t.Fatal(err)
					}
				}
				t.Logf("%s, %s: %s", ecosystem, round, time.Since(begun))
				if out, err := w.run(t, envPython, "-I", "-c", "import jinja2, markupsafe._speedups, yaml, ruamel.yaml, typing_extensions, pytest"); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			}
			t.Logf("afterwards the mirror has %s", m.memory())
			t.Run("the log shows only admitted requests, each file once", func(t *testing.T) {
				egress := s.egress(t)
				t.Logf("%+v", egress)
				// One page and one file for each of the ten packages, and metadata.
				if egress.Admitted < 20 || egress.Admitted > 30 || egress.Denied+egress.Failed+egress.Redirects != 0 || egress.Truncated {
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
				// Both managers installed from pip's lockfile.
				findings := auditMirror(t, v1alpha1.EcosystemPip, m.storage, "testdata/python")
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
