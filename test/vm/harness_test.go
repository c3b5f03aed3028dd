//go:build vm

package vm_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/nodeagent/broker"
	"github.com/ai-dossier/zt-operator/nodeagent/channel"
	"github.com/ai-dossier/zt-operator/nodeagent/erofs"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor/qemu"
)

// bootLimit bounds a boot under TCG on a machine that does other work too.
const bootLimit = 3 * time.Minute

// machine is a run's disks, which outlive one boot.
type machine struct {
	dir    string
	config hypervisor.Config
	mirror string
}

// vm is one boot of a machine.
type vm struct {
	*broker.Conn
	t        *testing.T
	key      []byte
	forward  int
	channel  *channel.Channel
	qemu     *exec.Cmd
	ended    chan error
	bootTime time.Duration
}

func artifact(t *testing.T, name string) string {
	t.Helper()
	path := os.Getenv(name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s must name a file that a VM boots from: %v", name, err)
	}
	return path
}

// newMachine makes the disks of a run whose tree holds the given files.
func newMachine(t *testing.T, tree map[string]string) *machine {
	t.Helper()
	// Not t.TempDir: a unix socket's path has room for 107 bytes only.
	dir, err := os.MkdirTemp("", "zt-vm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	base, disk, treeDisk := filepath.Join(dir, "base.ext4"), filepath.Join(dir, "disk.qcow2"), filepath.Join(dir, "tree.erofs")
	command(t, "truncate", "-s", "2G", base)
	command(t, "mkfs.ext4", "-q", base)
	command(t, "qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", base, disk)
	must(t, erofs.Pack(treeDisk, tree, erofs.Options{UID: 1000, GID: 1000}))
	return &machine{dir: dir, config: hypervisor.Config{
		Dir: dir, UID: 0, GID: 0, CPUs: 2, MemoryMiB: 2048, Accelerator: v1alpha1.AcceleratorTCG,
		Scope:  brokerproto.ScopeContainer,
		Kernel: artifact(t, "ZT_VM_KERNEL"), Initrd: artifact(t, "ZT_VM_INITRD"), Root: artifact(t, "ZT_VM_ROOT"),
		Disk: disk, Tree: treeDisk, Socket: filepath.Join(dir, "b.sock"),
	}}
}

// boot starts the machine in a phase and returns when the guest has said hello.
func (m *machine) boot(t *testing.T, phase brokerproto.Phase) *vm {
	t.Helper()
	config := m.config
	config.Phase, config.Nonce = phase, rand.Text()
	v := &vm{t: t, ended: make(chan error, 1)}
	welcome := brokerproto.Welcome{
		UnixNanos: time.Now().UnixNano(), Seed: random(32),
		Worker: brokerproto.WorkerLimits{PIDs: 256, MemoryMiB: 1024, TmpMiB: 256, CPUs: 2},
	}
	if phase == brokerproto.PhaseProvisioning {
		v.key, v.forward = random(32), freePort(t)
		welcome.RelayKey, config.ForwardPort = v.key, v.forward
		v.channel = channel.New(channel.Config{DialGuest: dialer(v.forward), DialMirror: m.dialMirror, RelayKey: v.key})
		t.Cleanup(func() { v.channel.Close() })
	}
	listener, err := broker.Listen(config.Socket, 0)
	must(t, err)
	args, err := qemu.Args(config)
	must(t, err)
	start := time.Now()
	v.start(args)
	ctx, cancel := context.WithTimeout(t.Context(), bootLimit)
	defer cancel()
	v.Conn, err = listener.Accept(ctx, broker.Expect{Scope: config.Scope, Phase: phase, Nonce: config.Nonce}, welcome, func(n int) { v.channel.Request(n) })
	if err != nil {
		t.Fatalf("boot: %v%s", err, v.console())
	}
	v.bootTime = time.Since(start)
	t.Cleanup(v.Close)
	return v
}

// start starts QEMU; it dies with the test.
func (v *vm) start(args []string) {
	if os.Getenv("ZT_VM_CONSOLE") != "" {
		args = withConsole(args)
	}
	v.qemu = exec.Command("/usr/bin/qemu-system-x86_64", args...)
	output := &bytes.Buffer{}
	v.qemu.Stdout, v.qemu.Stderr = output, output
	v.qemu.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(v.t, v.qemu.Start())
	go func() { v.ended <- v.qemu.Wait() }()
	v.t.Cleanup(func() {
		_ = v.qemu.Process.Kill()
		if v.t.Failed() {
			v.t.Logf("QEMU: %s", output)
		}
	})
}

// withConsole gives the VM a serial console on QEMU's standard output.
func withConsole(args []string) []string {
	for i, arg := range args {
		args[i] = strings.Replace(arg, "quiet ", "console=ttyS0 ", 1)
		if arg == "none" && args[i-1] == "-serial" {
			args[i] = "file:" + os.Getenv("ZT_VM_CONSOLE")
		}
	}
	return args
}

func (v *vm) console() string {
	if text, err := os.ReadFile(os.Getenv("ZT_VM_CONSOLE")); err == nil {
		return "\n" + string(text[max(0, len(text)-6000):])
	}
	return ""
}

// powerOff shuts the VM down and waits for QEMU's end.
func (v *vm) powerOff() time.Duration {
	v.t.Helper()
	start := time.Now()
	must(v.t, v.Shutdown(v.t.Context()))
	select {
	case err := <-v.ended:
		if err != nil {
			v.t.Fatalf("QEMU ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		v.t.Fatal("QEMU runs on after shutdown")
	}
	return time.Since(start)
}

// run runs a command with a minute's time.
func (v *vm) run(edit func(*brokerproto.Exec), argv ...string) brokerproto.ExecResult {
	v.t.Helper()
	result, err := v.try(edit, argv...)
	if err != nil {
		v.t.Fatalf("%q: %v%s", argv, err, v.console())
	}
	return result
}

func (v *vm) try(edit func(*brokerproto.Exec), argv ...string) (brokerproto.ExecResult, error) {
	request := brokerproto.Exec{Argv: argv, Network: brokerproto.NetworkNone, TimeoutMillis: 60_000}
	if edit != nil {
		edit(&request)
	}
	return v.Exec(v.t.Context(), request)
}

// sh runs a shell command that must succeed and returns what it printed, trimmed.
func (v *vm) sh(script string) string {
	v.t.Helper()
	result := v.run(nil, "sh", "-c", script)
	if result.ExitCode != 0 {
		v.t.Fatalf("%s: exit %d, signal %d: %s%s", script, result.ExitCode, result.Signal, result.Stdout, result.Stderr)
	}
	return strings.TrimSpace(string(result.Stdout))
}

func (m *machine) dialMirror(ctx context.Context) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", m.mirror)
}

func dialer(port int) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

func command(t *testing.T, argv ...string) {
	t.Helper()
	if output, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%q: %v: %s", argv, err, output)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
