//go:build proxy

package proxy

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/policy"
	"github.com/ai-dossier/zt-operator/internal/proxyca"
)

// squidUID is proxy, the uid of Debian's package and of the image.
const squidUID = 13

// logLine is one line of the access log, as any reader of it would take it.
type logLine struct {
	Start     string `json:"start"`
	Port      int    `json:"port"`
	Method    string `json:"method"`
	URL       string `json:"url"`
	Result    string `json:"result"`
	Status    int    `json:"status"`
	Upstream  string `json:"up_status"`
	Rule      string `json:"rule"`
	Err       string `json:"err"`
	ErrDetail string `json:"err_detail"`
	Bump      string `json:"bump"`
	SNI       string `json:"sni"`
	Bytes     int64  `json:"reply_bytes"`

	text string
}

// squid is one running Squid and its log so far.
type squid struct {
	dir     string
	ca      *x509.CertPool
	caPEM   []byte
	started time.Duration
	cmd     *exec.Cmd
	ended   chan struct{} // closed when the log ended, with the entry point
	stderr  bytes.Buffer  // to be read when it has ended
	policy  v1alpha1.ProxyPolicySpec

	mu    sync.Mutex
	raw   bytes.Buffer
	begun string            // Squid's version, from the first line
	lines map[int][]logLine // by client port
}

type squidOptions struct {
	spec        v1alpha1.ProxyPolicySpec
	ecosystem   v1alpha1.Ecosystem
	upstreamCA  []byte
	nameservers []string
	// run is mounted where Squid writes, if given.
	run string
	// edit changes the configuration for a test, such as a bound that it will not wait for.
	edit func(string) string
}

// startSquid runs the image's entry point in the squid namespace as the image's
// user, without capabilities, and waits until it listens.
func startSquid(t *testing.T, top *topology, o squidOptions) *squid {
	t.Helper()
	certPEM, keyPEM, err := proxyca.New(time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &squid{dir: squidDir(t), policy: o.spec, ca: x509.NewCertPool(), caPEM: certPEM, lines: map[int][]logLine{}}
	s.ca.AppendCertsFromPEM(certPEM)
	text, err := policy.RenderSquid(o.spec, policy.SquidParams{
		MirrorIP: mirrorIP, Ecosystem: o.ecosystem, Nameservers: o.nameservers,
		ConfigDir: s.dir + "/conf", RunDir: s.dir + "/run",
	})
	if err != nil {
		t.Fatal(err)
	}
	if o.run != "" {
		run(t, "mount", "--bind", o.run, s.dir+"/run")
		t.Cleanup(func() { _ = exec.Command("umount", "-l", s.dir+"/run").Run() })
	}
	if o.edit != nil {
		text = o.edit(text)
	}
	s.write(t, "conf/squid.conf", []byte(text))
	s.write(t, "conf/ca.pem", append(append([]byte(nil), certPEM...), keyPEM...))
	s.write(t, "conf/upstream-ca.pem", o.upstreamCA)
	s.start(t, top)
	return s
}

func squidDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "zt-t-squid")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for path, mode := range map[string]os.FileMode{"": 0o755, "conf": 0o755, "run": 0o777} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func (s *squid) write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// isolate gives Squid a /dev/shm of its own, as a pod would, and a read-only view
// of an image's root if one is to be tested.
const isolate = `set -e
mount --make-rprivate /
if [ -n "$ROOT" ]; then
	mount --bind "$ROOT" "$ROOT"
	mount --bind /dev "$ROOT/dev"
	mkdir -p "$ROOT$DIR"
	mount --rbind "$DIR" "$ROOT$DIR"
	cp "$ENTRYPOINT" "$DIR/entrypoint"
	mount -t tmpfs tmpfs "$ROOT/dev/shm"
	exec chroot "$ROOT" $DROP "$DIR/entrypoint"
fi
mount -t tmpfs tmpfs /dev/shm
exec $DROP "$ENTRYPOINT"`

func (s *squid) command(namespace string) *exec.Cmd {
	drop := fmt.Sprintf("setpriv --reuid %d --regid %d --clear-groups --bounding-set -all --inh-caps -all --no-new-privs", squidUID, squidUID)
	cmd := exec.Command("ip", "netns", "exec", namespace, "unshare", "-m", "sh", "-c", isolate)
	entrypoint, _ := filepath.Abs("../../images/squid/entrypoint.sh")
	cmd.Env = []string{
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DROP=" + drop, "ENTRYPOINT=" + entrypoint, "DIR=" + s.dir,
		"ROOT=" + os.Getenv("ZT_SQUID_ROOT"),
		"ZT_SQUID_CONFIG_DIR=" + s.dir + "/conf", "ZT_SQUID_RUN_DIR=" + s.dir + "/run",
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func (s *squid) start(t *testing.T, top *topology) {
	t.Helper()
	s.cmd = s.command(top.squid)
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stderr = &s.stderr
	begun := time.Now()
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	s.ended = done
	go func() { s.read(stdout); close(done) }()
	t.Cleanup(func() {
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		<-done
		_ = s.cmd.Wait()
		if t.Failed() {
			t.Logf("squid's stderr: %s", s.stderr.String())
		}
	})
	for {
		conn, err := dial(top.mirror, mirrorIP, net.JoinHostPort(squidIP, "3128"))
		if err == nil {
			conn.Close()
			break
		}
		select {
		case <-done:
			t.Fatalf("squid did not start: %s", s.stderr.String())
		case <-time.After(5 * time.Millisecond):
		}
		if time.Since(begun) > 20*time.Second {
			t.Fatalf("squid does not listen: %v %s", err, s.stderr.String())
		}
	}
	s.started = time.Since(begun)
}

func (s *squid) read(stdout interface{ Read([]byte) (int, error) }) {
	scanner := bufio.NewScanner(stdout)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var line logLine
		err := json.Unmarshal(scanner.Bytes(), &line)
		s.mu.Lock()
		s.raw.Write(scanner.Bytes())
		s.raw.WriteByte('\n')
		if err == nil {
			line.text = scanner.Text()
			s.lines[line.Port] = append(s.lines[line.Port], line)
			s.begun = cmp.Or(s.begun, line.Start)
		}
		s.mu.Unlock()
	}
}

// log returns the text of the log so far.
func (s *squid) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.String()
}

// entries returns the log entries of one client connection so far.
func (s *squid) entries(port int) []logLine {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines[port])
}

// logStart is the first line of a log that is whole.
const logStart = `{"v":1,"start":"test"}` + "\n"

// verdict waits until the log entries of one connection decide, and returns what
// the product's log reader makes of them.
func (s *squid) verdict(port int) (class, rule string) {
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		var text strings.Builder
		text.WriteString(logStart)
		for _, line := range s.entries(port) {
			text.WriteString(line.text + "\n")
		}
		egress, err := policy.ParseAccessLog(strings.NewReader(text.String()), 1<<20)
		if err == nil && len(egress.Rules) > 0 {
			return classOf(egress), egress.Rules[0].Rule
		}
		if time.Now().After(deadline) {
			return "none", ""
		}
	}
}

func classOf(e v1alpha1.EgressStatus) string {
	switch {
	case e.Admitted+e.Denied+e.Failed != 1:
		return fmt.Sprintf("%d admitted, %d denied, %d failed", e.Admitted, e.Denied, e.Failed)
	case e.Admitted == 1:
		return "admitted"
	case e.Denied == 1:
		return "denied"
	}
	return "failed"
}

func (s *squid) version() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}

func describe(lines []logLine) string {
	var b strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&b, "\n  %s %.80s %s/%d rule=%s err=%s/%s bump=%s", line.Method, line.URL, line.Result, line.Status, line.Rule, line.Err, line.ErrDetail, line.Bump)
	}
	return b.String()
}
