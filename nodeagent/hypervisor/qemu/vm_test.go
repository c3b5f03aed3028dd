//go:build vm

package qemu_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/testneeds"
	"github.com/ai-dossier/zt-operator/nodeagent/broker"
	"github.com/ai-dossier/zt-operator/nodeagent/channel"
	"github.com/ai-dossier/zt-operator/nodeagent/erofs"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor/qemu"
	"github.com/ai-dossier/zt-operator/nodeagent/placement"
	"github.com/ai-dossier/zt-operator/nodeagent/placement/podtest"
)

const vmUID = 64200

// vm is a real VM in a real pod, as the engine drives one.
type vm struct {
	t      *testing.T
	pod    *placement.Pod
	config hypervisor.Config

	process hypervisor.Process
	conn    *broker.Conn
	relay   *channel.Channel
}

func tool(t *testing.T, argv ...string) {
	t.Helper()
	if output, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", argv[0], err, output)
	}
}

func newVM(t *testing.T) (*vm, *podtest.Pod) {
	t.Helper()
	made := podtest.New(t)
	pod, err := placement.Find(made.UID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pod.Release(); err != nil {
			t.Error(err)
		}
	})
	base, err := os.MkdirTemp("", "zt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	dir := filepath.Join(base, "b")
	c := hypervisor.Config{
		Dir: dir, UID: vmUID, GID: vmUID, CPUs: 2, MemoryMiB: 2048, Accelerator: v1alpha1.AcceleratorTCG,
		Scope:  brokerproto.ScopeContainer,
		Kernel: testneeds.File(t, "ZT_VM_KERNEL"), Initrd: testneeds.File(t, "ZT_VM_INITRD"), Root: testneeds.File(t, "ZT_VM_ROOT"),
		Disk: filepath.Join(dir, "disk.qcow2"), DiskBase: filepath.Join(base, "base.ext4"), Tree: filepath.Join(base, "tree.erofs"),
		Socket: filepath.Join(dir, "b.sock"),
	}
	makeDisks(t, base, c)
	return &vm{t: t, pod: pod, config: c}, made
}

func makeDisks(t *testing.T, base string, c hypervisor.Config) {
	t.Helper()
	if err := errors.Join(
		os.Mkdir(c.Dir, 0o700),
		erofs.Pack(c.Tree, map[string]string{"README": "the tree\n"}, erofs.Options{UID: 1000, GID: 1000}),
	); err != nil {
		t.Fatal(err)
	}
	tool(t, "truncate", "-s", "2G", c.DiskBase)
	tool(t, "mkfs.ext4", "-q", "-F", c.DiskBase)
	tool(t, "qemu-img", "create", "-q", "-f", "qcow2", "-b", c.DiskBase, "-F", "raw", c.Disk)
	for _, path := range []string{c.Dir, c.Disk} {
		if err := os.Chown(path, vmUID, vmUID); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{c.DiskBase, c.Tree} {
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// boot starts the VM in a phase and waits for its hello.
func (v *vm) boot(phase brokerproto.Phase, dialMirror func(context.Context) (net.Conn, error)) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), time.Minute)
	defer cancel()
	var err error
	v.config.Phase, v.config.ForwardPort, v.config.Nonce = phase, 0, random(v.t, 16)
	welcome := brokerproto.Welcome{
		UnixNanos: time.Now().UnixNano(), Seed: []byte(random(v.t, brokerproto.SeedBytes/2)),
		Worker: brokerproto.WorkerLimits{PIDs: 256, MemoryMiB: 512, TmpMiB: 64, CPUs: 2},
	}
	if phase == brokerproto.PhaseProvisioning {
		welcome.RelayKey = []byte(random(v.t, brokerproto.RelayKeyBytes/2))
		if v.config.ForwardPort, err = v.pod.FreePort(); err != nil {
			v.t.Fatal(err)
		}
		port := v.config.ForwardPort
		v.relay = channel.New(channel.Config{
			DialGuest:  func(ctx context.Context) (net.Conn, error) { return v.pod.Dial(ctx, port) },
			DialMirror: dialMirror, RelayKey: welcome.RelayKey,
		})
		v.t.Cleanup(func() { v.relay.Close() })
	}
	if v.config.Placement, err = v.pod.Place(); err != nil {
		v.t.Fatal(err)
	}
	listener, err := broker.Listen(v.config.Socket, vmUID)
	if err != nil {
		v.t.Fatal(err)
	}
	defer listener.Close()
	start := time.Now()
	if v.process, err = qemu.New("/usr/bin/qemu-system-x86_64", "").Start(ctx, v.config); err != nil {
		v.t.Fatal(err)
	}
	process := v.process
	v.t.Cleanup(func() { _ = process.Kill() })
	expect := broker.Expect{Scope: v.config.Scope, Phase: phase, Nonce: v.config.Nonce}
	if v.conn, err = listener.Accept(ctx, expect, welcome, func(n int) { v.relay.Request(n) }); err != nil {
		v.t.Fatalf("%v; QEMU: %s", err, v.process.Stderr())
	}
	v.t.Cleanup(v.conn.Close)
	v.t.Logf("%s: hello after %s", phase, time.Since(start).Round(time.Millisecond))
}

func random(t *testing.T, n int) string {
	t.Helper()
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(b)
}

func (v *vm) exec(network brokerproto.Network, argv ...string) brokerproto.ExecResult {
	v.t.Helper()
	result, err := v.conn.Exec(v.t.Context(), brokerproto.Exec{Argv: argv, Network: network, TimeoutMillis: 240_000})
	if err != nil {
		v.t.Fatalf("%q: %v; QEMU: %s", argv, err, v.process.Stderr())
	}
	v.t.Logf("%q: exit %d, %q %q", argv, result.ExitCode, result.Stdout, result.Stderr)
	return result
}

func (v *vm) powerOff() {
	v.t.Helper()
	start := time.Now()
	if err := v.conn.Shutdown(v.t.Context()); err != nil {
		v.t.Fatal(err)
	}
	select {
	case <-v.process.Done():
	case <-time.After(30 * time.Second):
		v.t.Fatal("QEMU did not exit")
	}
	if err := v.process.Err(); err != nil {
		v.t.Errorf("QEMU: %v: %s", err, v.process.Stderr())
	}
	v.t.Logf("power-off: %s", time.Since(start).Round(time.Millisecond))
}

// httpMirror answers every connection with one HTTP response.
func httpMirror(t *testing.T) func(context.Context) (net.Conn, error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = io.WriteString(conn, "HTTP/1.0 200 OK\r\nContent-Length: 6\r\n\r\nmirror")
			}()
		}
	}()
	return func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
	}
}

func TestVMLivesInThePodThroughBothPhases(t *testing.T) {
	v, made := newVM(t)
	v.boot(brokerproto.PhaseProvisioning, httpMirror(t))
	if !v.process.HasNetwork() {
		t.Error("provisioning has no network")
	}
	checkPlaced(t, v.process.PID(), made)
	if got := v.exec(brokerproto.NetworkNone, "cat", "README"); string(got.Stdout) != "the tree\n" {
		t.Error("the tree is not in the workspace")
	}
	script := fmt.Sprintf(`const urls = Array(20).fill("http://127.0.0.1:%d/");
Promise.all(urls.map(u => fetch(u).then(r => r.text()))).then(t => require("fs").writeFileSync("fetched", t.join(",")))`, brokerproto.RelayWorkerPort)
	if got := v.exec(brokerproto.NetworkPackageProxy, "node", "-e", script); got.ExitCode != 0 {
		t.Error("the mirror is not reached")
	}
	stats := v.relay.Close()
	t.Logf("relay: %+v", stats)
	if stats.Connections < 1 || stats.ToGuestBytes < 20*6 {
		t.Errorf("relay carried %+v", stats)
	}
	v.powerOff()

	v.boot(brokerproto.PhaseVerification, nil)
	if v.process.HasNetwork() {
		t.Error("verification has a network")
	}
	checkPlaced(t, v.process.PID(), made)
	if got := v.exec(brokerproto.NetworkNone, "cat", "fetched"); strings.Count(string(got.Stdout), "mirror") != 20 {
		t.Error("the workspace did not survive the switch")
	}
	if got := v.exec(brokerproto.NetworkNone, "node", "-e", `console.log(JSON.stringify(require("os").networkInterfaces()))`); strings.Contains(string(got.Stdout), "eth") {
		t.Error("the worker has a network device")
	}
	if err := v.process.Kill(); err != nil {
		t.Error(err)
	}
	<-v.conn.Done()
	if err := v.conn.Tainted(); err != nil {
		t.Errorf("a killed VM is tainted: %v", err)
	}
}

// checkPlaced asks the kernel where the process is.
func checkPlaced(t *testing.T, pid int, pod *podtest.Pod) {
	t.Helper()
	want, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pod.HolderPID))
	if got, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid)); got != want {
		t.Errorf("network namespace is %s (%v), want the pod's %s", got, err, want)
	}
	for _, dir := range pod.Cgroups {
		procs, _ := os.ReadFile(filepath.Join(dir, "vm/cgroup.procs"))
		if strings.TrimSpace(string(procs)) != fmt.Sprint(pid) {
			t.Errorf("%s/vm holds %q, want %d", dir, procs, pid)
		}
	}
}

func TestVMWithATamperedDiskIsNotStarted(t *testing.T) {
	v, _ := newVM(t)
	tool(t, "qemu-img", "rebase", "-u", "-b", "/etc/shadow", "-F", "raw", v.config.Disk)
	v.config.Phase, v.config.Nonce = brokerproto.PhaseVerification, random(t, 16)
	if process, err := qemu.New("/usr/bin/qemu-system-x86_64", "").Start(t.Context(), v.config); err == nil {
		_ = process.Kill()
		t.Error("started")
	}
}

func TestVMRelaysManyConnectionsInBursts(t *testing.T) {
	v, _ := newVM(t)
	v.boot(brokerproto.PhaseProvisioning, httpMirror(t))
	script := fmt.Sprintf(`(async () => {
  for (let round = 0; round < 10; round++) {
    const start = Date.now();
    const got = await Promise.allSettled(Array(20).fill(0).map(() => fetch("http://127.0.0.1:%d/").then(r => r.text())));
    const bad = got.filter(g => g.value !== "mirror").map(g => String(g.reason && g.reason.cause || g.value));
    console.log(round, Date.now() - start, "ms", bad.length, bad.join());
    if (bad.length) process.exitCode = 1;
  }
})()`, brokerproto.RelayWorkerPort)
	result := v.exec(brokerproto.NetworkPackageProxy, "node", "-e", script)
	stats := v.relay.Close()
	t.Logf("relay: %+v\n%s", stats, result.Stdout)
	if result.ExitCode != 0 || stats.Connections < 200 || stats.Failed != 0 {
		t.Errorf("exit %d, %+v", result.ExitCode, stats)
	}
}

// The guest may not run under a node's KVM even if it opens; what is proven here is
// that the unprivileged uid has it, whatever the mode of the node's device.
func TestVMOpensKVMAsItsUnprivilegedUser(t *testing.T) {
	v, _ := newVM(t)
	v.config.Accelerator, v.config.Phase, v.config.Nonce = v1alpha1.AcceleratorKVM, brokerproto.PhaseVerification, random(t, 16)
	listener, err := broker.Listen(v.config.Socket, vmUID)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	process, err := qemu.New("/usr/bin/qemu-system-x86_64", "").Start(t.Context(), v.config)
	if _, missing := os.Stat("/dev/kvm"); missing != nil {
		if err == nil {
			_ = process.Kill()
			t.Error("a VM that is to have KVM was started without it")
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = process.Kill() }()
	for range 200 {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", process.PID()))
		for _, file := range files {
			if target, _ := os.Readlink(file); target == "anon_inode:kvm-vm" {
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	// Some hosts let QEMU open KVM and then refuse a vCPU's registers, which ends it
	// before it is looked at. Only a KVM that did not open has no accelerator.
	if said := process.Stderr(); said == "" || strings.Contains(said, "failed to initialize kvm") {
		t.Errorf("QEMU has no KVM VM: %s", said)
	}
}
