package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/cacheaudit"
	"github.com/ai-dossier/zt-operator/nodeagent/engine"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor/fake"
	"github.com/ai-dossier/zt-operator/nodeagent/image"
	"github.com/ai-dossier/zt-operator/nodeagent/safepath"
	"github.com/ai-dossier/zt-operator/nodeagent/source"
)

const (
	node   = "n1"
	target = "test/excerpt-emoji.test.js"
)

// The test binary is the source reader's child too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == source.ChildArgument {
		source.ChildMain()
	}
	os.Exit(m.Run())
}

// world is a node with an agent: a scripted hypervisor and a pod, but real sources
// read by the real child.
type world struct {
	t        *testing.T
	client   client.Client
	vms      *fake.Fake
	pod      *pod
	sessions *Sessions
	runs     *RunReconciler
	dir      *safepath.Dir
	run      *v1alpha1.ZTRun
}

func newWorld(t *testing.T, guest fake.Guest) *world {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("the source reader's child needs root to confine itself")
	}
	w := &world{t: t, vms: fake.New(guest), pod: &pod{}, run: assignedRun(t)}
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	w.client = fakeclient.NewClientBuilder().WithScheme(scheme).
		WithStatusSubresource(&v1alpha1.ZTRun{}, &v1alpha1.ZTProfile{}).WithObjects(w.run, w.source(t)).Build()
	w.dir = passableDir(t)
	profiles := &Profiles{}
	profiles.set("default", bakedProfile())
	host := &Host{
		Client: w.client, RunNamespace: "zt-runs", Runs: w.dir, FirstVMUID: 1_879_060_000,
		Engine: &engine.Engine{Hypervisor: w.vms, Clock: clock.RealClock{}, Rand: rand.Reader},
		Images: images{}, Source: &source.Reader{}, Profiles: profiles,
		FindPod:   func(types.UID) (Pod, error) { return w.pod, nil },
		ListCache: func(context.Context, netip.Addr) ([]cacheaudit.Artifact, error) { return nil, nil },
	}
	w.sessions = NewSessions(host, logr.Discard())
	t.Cleanup(w.sessions.Drain)
	w.runs = &RunReconciler{Client: w.client, Node: node, Sessions: w.sessions}
	return w
}

func passableDir(t *testing.T) *safepath.Dir {
	base := t.TempDir()
	// Every parent too: the child's uid has to pass.
	for dir := base; dir != "/" && dir != "/tmp"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := safepath.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir
}

func bakedProfile() *BakedProfile {
	return &BakedProfile{
		Generation: 1, Accelerator: v1alpha1.AcceleratorTCG,
		Spec: v1alpha1.ZTProfileSpec{
			VM:     v1alpha1.VMSpec{CPUs: 2, MemoryMiB: 1024, DiskMiB: 512},
			Worker: v1alpha1.WorkerSpec{PIDs: 64, MemoryMiB: 512, TmpMiB: 64},
			Runtimes: []v1alpha1.Runtime{{
				Name: "node-22", Language: v1alpha1.LanguageNode, Version: "22.23.5",
				Managers: []v1alpha1.Manager{{Name: v1alpha1.EcosystemNPM, Version: "10.9.9"}},
			}},
			Proxy:  v1alpha1.ProxySpec{Mirrors: []v1alpha1.Mirror{{Ecosystem: v1alpha1.EcosystemNPM}}},
			Limits: v1alpha1.ProfileLimits{ProvisioningSeconds: 60, CommandSeconds: 60, RunSeconds: 600},
		},
		Manifest: &image.Manifest{Digest: "sha256:1", Runtimes: map[string]image.File{"node-22": {Path: "/images/node-22"}}},
	}
}

// reconcile shows the agent the newest run, as a watch event would.
func (w *world) reconcile() {
	w.t.Helper()
	if _, err := w.runs.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: keyOf(w.run)}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) latest() *v1alpha1.ZTRun {
	w.t.Helper()
	var run v1alpha1.ZTRun
	if err := w.client.Get(w.t.Context(), keyOf(w.run), &run); err != nil {
		w.t.Fatal(err)
	}
	return &run
}

// await waits for a published record.
func (w *world) await(what string, is func(*v1alpha1.ExecutionStatus) bool) *v1alpha1.ExecutionStatus {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if e := w.latest().Status.Execution; e != nil && is(e) {
			return e
		}
	}
	w.t.Fatalf("%s did not come; the record is %+v", what, w.latest().Status.Execution)
	return nil
}

func inState(state v1alpha1.ExecutionState) func(*v1alpha1.ExecutionStatus) bool {
	return func(e *v1alpha1.ExecutionStatus) bool { return e.State == state }
}

// proxyComesUp plays the operator.
func (w *world) proxyComesUp() {
	w.change(func(run *v1alpha1.ZTRun) {
		run.Status.Proxy = &v1alpha1.ProxyStatus{MirrorAddress: "127.0.0.1:4873"}
		run.Status.Runtime = run.Status.Execution.Source.Selected
		meta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{
			Type: v1alpha1.ConditionProxyReady, Status: metav1.ConditionTrue, Reason: "ProxyReady",
		})
	})
}

func (w *world) change(change func(*v1alpha1.ZTRun)) {
	w.t.Helper()
	run := w.latest()
	base := run.DeepCopy()
	change(run)
	if err := w.client.Status().Patch(w.t.Context(), run, client.MergeFrom(base)); err != nil {
		w.t.Fatal(err)
	}
	w.reconcile()
}

// nothingLeft checks the node after a session.
func (w *world) nothingLeft() {
	w.t.Helper()
	w.sessions.Drain()
	if left, err := os.ReadDir(w.dir.Path()); err != nil || len(left) > 0 {
		w.t.Errorf("left behind: %v, %v", left, err)
	}
	if !w.pod.wasReleased() {
		w.t.Error("the vm pod was not released")
	}
	for _, boot := range w.vms.Boots() {
		select {
		case <-boot.Process.Done():
		default:
			w.t.Error("a VM still runs")
		}
	}
}

// assignedRun is a run that the operator placed on this node, of the npm fixture.
func assignedRun(t *testing.T) *v1alpha1.ZTRun {
	t.Helper()
	repo := fixture(t)
	commit := func(tag string) v1alpha1.TreeRef { return v1alpha1.TreeRef{Commit: git(t, repo, "rev-parse", tag)} }
	run := &v1alpha1.ZTRun{}
	run.Namespace, run.Name, run.UID = "team-a", "fix", "11111111-2222-3333-4444-555555555555"
	run.Spec.ProfileRef.Name = "default"
	run.Spec.Proof = v1alpha1.Proof{
		Mode: v1alpha1.RegressionProof,
		Base: commit("base"), RegressionTest: commit("regression-test"), Candidate: commit("fix"),
		Targets: []v1alpha1.TargetPath{target},
	}
	run.Status = v1alpha1.ZTRunStatus{
		Attempt: 1, NodeName: node, VMPod: &v1alpha1.PodRef{Name: "vm", UID: "66666666-7777-8888-9999-000000000000"},
	}
	return run
}

// source is the operator's copy of the bundle.
func (w *world) source(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	bundle, err := os.ReadFile(filepath.Join(fixture(t), "bundle"))
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "zt-runs", Name: "ztr-" + string(w.run.UID) + "-1-source"},
		BinaryData: map[string][]byte{v1alpha1.DefaultBundleKey: bundle},
	}
}

var fixtureOnce = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "zt-agent-fixture-")
	if err != nil {
		return "", err
	}
	repo := filepath.Join(dir, "repo")
	out, err := exec.Command("../../hack/demo/repository.sh", "../../fixtures/ecosystem/npm", repo).CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	out, err = exec.Command("git", "-C", repo, "bundle", "create", "-q", "bundle", "--all").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return repo, nil
})

func fixture(t *testing.T) string {
	t.Helper()
	repo, err := fixtureOnce()
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

func git(t *testing.T, repo string, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", repo}, args...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// pod is a vm pod without cgroups.
type pod struct {
	mu       sync.Mutex
	released bool
}

func (*pod) Place() (hypervisor.Placement, error)        { return hypervisor.Placement{}, nil }
func (*pod) FreePort() (int, error)                      { return 40000, nil }
func (*pod) Dial(context.Context, int) (net.Conn, error) { return nil, errors.New("no guest network") }

func (p *pod) Release() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.released = true
	return nil
}

func (p *pod) wasReleased() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.released
}

// images is a store that has everything.
type images struct{}

func (images) Bake(context.Context, v1alpha1.ZTProfileSpec, func(string)) (*image.Manifest, error) {
	return bakedProfile().Manifest, nil
}
func (images) Verify(*image.Manifest) error          { return nil }
func (images) Keep(context.Context, ...string) error { return nil }
func (images) NewDisk(_ context.Context, _ *image.Manifest, path string, _ uint32) error {
	return os.WriteFile(path, nil, 0o600)
}

const (
	passingSuite  = `<testsuite name="s"><testcase name="t"/></testsuite>`
	passingReport = `<testsuites>` + passingSuite + `</testsuites>`
	failingReport = `<testsuites><testsuite name="s"><testcase name="t"><failure message="no"/></testcase></testsuite></testsuites>`
)

// fixed plays a guest whose candidate fixes the bug. Folder r is the VM of the
// regression test's tree.
func fixed(t *testing.T) fake.Guest {
	files := &fake.Workspace{Tree: candidateFiles(t)}
	return fake.Guest{Get: files.Get, Put: files.Put, Exec: func(c hypervisor.Config, e brokerproto.Exec) fake.Reply {
		report := func(exit int, text string) fake.Reply {
			return fake.Reply{Result: brokerproto.ExecResult{ExitCode: exit, Report: &brokerproto.Report{Data: []byte(text)}}}
		}
		if reply, ok := files.Sentinel(c, e, passingSuite); ok {
			return reply
		}
		switch {
		case !e.Report:
			return fake.Reply{}
		case slices.Contains(e.Argv, target) && filepath.Base(c.Dir) == "r":
			return report(1, failingReport)
		}
		return report(0, passingReport)
	}}
}

// candidateFiles are the tests of the fixture, which every VM has on its disk.
func candidateFiles(t *testing.T) map[string]string {
	t.Helper()
	repo, files := fixture(t), map[string]string{}
	for name := range strings.FieldsSeq(git(t, repo, "ls-tree", "-r", "--name-only", "fix", "test")) {
		content, err := exec.Command("git", "-C", repo, "cat-file", "blob", "fix:"+name).Output()
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(content)
	}
	return files
}
