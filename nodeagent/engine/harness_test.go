package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor/fake"
	"github.com/ai-dossier/zt-operator/nodeagent/image"
	"github.com/ai-dossier/zt-operator/nodeagent/safepath"
	"github.com/ai-dossier/zt-operator/nodeagent/source"
)

const (
	target        = "test/regression.test.js"
	targetContent = "test('t', () => {});\n"
)

var proof = v1alpha1.Proof{
	Mode:           v1alpha1.RegressionProof,
	Base:           v1alpha1.TreeRef{Commit: strings.Repeat("1", 40)},
	RegressionTest: v1alpha1.TreeRef{Commit: strings.Repeat("2", 40)},
	Candidate:      v1alpha1.TreeRef{Commit: strings.Repeat("3", 40)},
	Targets:        []v1alpha1.TargetPath{target},
}

// host stands for everything of the node that an attempt touches.
type host struct {
	t         *testing.T
	dir       *safepath.Dir
	guest     fake.Guest
	workspace *fake.Workspace

	diskErr    error
	proxyReady func(context.Context) error
	clocks     Clocks
	cache      *Cache
	parallel   int32
}

func newHost(t *testing.T) *host {
	t.Helper()
	base := t.TempDir()
	if err := os.Chmod(base, 0o711); err != nil {
		t.Fatal(err)
	}
	dir, err := safepath.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	files := &fake.Workspace{Tree: map[string]string{target: targetContent}}
	return &host{
		t: t, dir: dir, workspace: files,
		guest:      fake.Guest{Exec: goodCandidate(files), Get: files.Get, Put: files.Put},
		proxyReady: func(context.Context) error { return nil },
		clocks:     Clocks{Hello: 5 * time.Second, Boot: time.Minute, Provisioning: time.Minute, Command: time.Minute, PowerOff: 2 * time.Second},
	}
}

// execute runs a whole attempt and returns its record, the VMs it started and the
// error it ended with.
func (h *host) execute(ctx context.Context) (*v1alpha1.ExecutionStatus, []*fake.Boot, error) {
	h.t.Helper()
	vms := fake.New(h.guest)
	e := &Engine{Hypervisor: vms, Clock: clock.RealClock{}, Rand: rand.Reader}
	a := h.attempt()
	err := e.Execute(ctx, a)
	if left, readErr := os.ReadDir(h.dir.Path()); readErr != nil || len(left) > 0 {
		h.t.Errorf("left behind: %v, %v", left, readErr)
	}
	return a.Record.Snapshot(), vms.Boots(), err
}

func (h *host) attempt() *Attempt {
	uid := uint32(os.Getuid())
	runtime := v1alpha1.Runtime{Name: "node-22", Language: v1alpha1.LanguageNode, Version: "22.0.0"}
	detection := ecosystem.Detection{Ecosystem: v1alpha1.EcosystemNPM, Packages: 1}
	return &Attempt{
		Dir: h.dir, UIDs: [3]uint32{uid, uid, uid}, Proof: proof,
		Profile: v1alpha1.ZTProfileSpec{
			ParallelTrees: h.parallel,
			VM:            v1alpha1.VMSpec{CPUs: 2, MemoryMiB: 1024, DiskMiB: 512},
			Worker:        v1alpha1.WorkerSpec{PIDs: 64, MemoryMiB: 512, TmpMiB: 64},
		},
		Accelerator: v1alpha1.AcceleratorTCG,
		Clocks:      h.clocks,
		Manifest: &image.Manifest{
			Kernel: image.File{Path: "/images/vmlinux"}, Initrd: image.File{Path: "/images/initrd"},
			Runtimes: map[string]image.File{"node-22": {Path: "/images/node-22.erofs"}},
		},
		Source: &source.Source{Trees: map[v1alpha1.TreeName]source.Tree{
			v1alpha1.TreeBase:           {Commit: proof.Base.Commit, TreeID: strings.Repeat("a", 40), Files: 3},
			v1alpha1.TreeRegressionTest: {Commit: proof.RegressionTest.Commit, TreeID: strings.Repeat("b", 40), Files: 4},
			v1alpha1.TreeCandidate:      {Commit: proof.Candidate.Commit, TreeID: strings.Repeat("c", 40), Files: 4},
		}, Protected: []source.ProtectedFile{{Path: target, ID: blobID([]byte(targetContent))}}},
		Prepared: &Prepared{
			Detection: detection, Runtime: runtime,
			Plan: ecosystem.PlanFor(detection, runtime, []string{target}, mirrorURL),
		},
		Pod: pod{}, Trees: treeDisks{}, Disks: disks{h.diskErr},
		DialMirror: func(context.Context) (net.Conn, error) { return nil, errors.New("no mirror in this test") },
		ProxyReady: h.proxyReady, Cache: h.cache,
		Record: NewRecord(v1alpha1.ExecutionStatus{
			Attempt: 1, State: v1alpha1.ExecutionWaitingForProxy,
			Source: &v1alpha1.SourceStatus{
				Digest: "sha256:" + strings.Repeat("0", 64), Ecosystem: v1alpha1.EcosystemNPM, Runtime: runtime.Name, Packages: 1,
			},
		}),
	}
}

type pod struct{}

func (pod) Place() (hypervisor.Placement, error) { return hypervisor.Placement{}, nil }
func (pod) FreePort() (int, error)               { return 40000, nil }
func (pod) Dial(context.Context, int) (net.Conn, error) {
	return nil, errors.New("no forward in this test")
}

type treeDisks struct{}

func (treeDisks) Disk(_ context.Context, name v1alpha1.TreeName, path string) error {
	return os.WriteFile(path, []byte(name), 0o444)
}

type disks struct{ err error }

func (d disks) NewDisk(_ context.Context, _ *image.Manifest, path string, _ uint32) error {
	if d.err != nil {
		return d.err
	}
	return os.WriteFile(path, nil, 0o600)
}

const (
	passingSuite  = `<testsuite name="s" tests="1"><testcase name="t"/></testsuite>`
	passingReport = `<testsuites>` + passingSuite + `</testsuites>`
	failingReport = `<testsuites><testsuite name="s" tests="1"><testcase name="t"><failure message="no"/></testcase></testsuite></testsuites>`
)

func passed() fake.Reply {
	return fake.Reply{Result: brokerproto.ExecResult{Report: &brokerproto.Report{Data: []byte(passingReport)}}}
}

func failed() fake.Reply {
	return fake.Reply{Result: brokerproto.ExecResult{ExitCode: 1, Report: &brokerproto.Report{Data: []byte(failingReport)}}}
}

type script = func(hypervisor.Config, brokerproto.Exec) fake.Reply

// goodCandidate plays a repository whose candidate fixes the bug.
func goodCandidate(files *fake.Workspace) script {
	return func(c hypervisor.Config, exec brokerproto.Exec) fake.Reply {
		if reply, ok := files.Sentinel(c, exec, passingSuite); ok {
			return reply
		}
		switch {
		case !exec.Report:
			return fake.Reply{}
		case slices.Contains(exec.Argv, target) && treeOf(c) == v1alpha1.TreeRegressionTest:
			return failed()
		}
		return passed()
	}
}

func treeOf(c hypervisor.Config) v1alpha1.TreeName {
	for tree, name := range dirNames {
		if filepath.Base(c.Dir) == name {
			return tree
		}
	}
	return ""
}
