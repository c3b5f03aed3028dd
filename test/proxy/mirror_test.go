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

	"github.com/ai-dossier/zt-operator/internal/policy"
)

// mirror is a package mirror's image that runs as its pod would run it.
type mirror struct {
	address string
	storage string
	pid     int
	ready   time.Duration
	output  *bytes.Buffer
}

// mirrorConfigDir is where a mirror finds its configuration and the run's CA.
const mirrorConfigDir = "/etc/zt/mirror"

func startNPMMirror(t *testing.T, top *topology, s *squid, storage string) *mirror {
	t.Helper()
	const cache = "/verdaccio/storage"
	config := policy.RenderVerdaccio(policy.VerdaccioParams{Proxy: net.JoinHostPort(squidIP, fmt.Sprint(policy.SquidPort)), Storage: cache})
	return startMirror(t, top, mirrorProgram{
		image: "mirror-npm", alive: "/-/ping", cache: cache, storage: storage,
		files: map[string]string{"config.yaml": config, "ca.crt": string(s.caPEM)},
		env:   map[string]string{"NODE_EXTRA_CA_CERTS": mirrorConfigDir + "/ca.crt"},
	})
}

func startPyPIMirror(t *testing.T, top *topology, s *squid, storage string) *mirror {
	t.Helper()
	const cache = "/var/cache/proxpi"
	return startMirror(t, top, mirrorProgram{
		image: "mirror-pypi", alive: "/health", cache: cache, storage: storage,
		files: map[string]string{"ca.crt": string(s.caPEM)},
		env: policy.ProxpiEnvironment(policy.ProxpiParams{
			Proxy: net.JoinHostPort(squidIP, fmt.Sprint(policy.SquidPort)), CABundle: mirrorConfigDir + "/ca.crt", Storage: cache,
		}),
	})
}

// mirrorProgram is how the mirror of one ecosystem is started.
type mirrorProgram struct {
	image, alive   string
	cache, storage string
	files, env     map[string]string
}

// startMirror runs a mirror in its namespace and waits until it answers.
func startMirror(t *testing.T, top *topology, p mirrorProgram) *mirror {
	t.Helper()
	config := folder(t, 0o755)
	for name, text := range p.files {
		if err := os.WriteFile(filepath.Join(config, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	image := imageConfig(t, p.image)
	for _, variable := range image.Env {
		name, value, _ := strings.Cut(variable, "=")
		p.env[name] = value
	}
	if image.User != "1000:1000" {
		t.Errorf("the image's user is %q", image.User)
	}
	cmd := container{
		namespace: top.mirror, root: imageRoot(t, p.image), env: p.env,
		mounts: map[string]string{mirrorConfigDir: config, p.cache: p.storage},
	}.command(t, append(image.Entrypoint, image.Cmd...)...)
	m := &mirror{address: net.JoinHostPort(mirrorIP, fmt.Sprint(policy.VerdaccioPort)), storage: p.storage, output: &bytes.Buffer{}}
	cmd.Stdout, cmd.Stderr = m.output, m.output
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m.pid = cmd.Process.Pid
	t.Cleanup(func() {
		_ = syscall.Kill(-m.pid, syscall.SIGKILL)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the mirror's output: %s", tailOf(m.output.String()))
		}
	})
	for m.get(top, p.alive).status != 200 {
		if time.Since(begun) > time.Minute {
			t.Fatal("the mirror does not answer")
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
