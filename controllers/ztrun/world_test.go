package ztrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/test/builders"
)

const (
	runNamespace = "zt-runs"
	specDigest   = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	node1        = "node-1"
)

var (
	epoch  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	bundle = []byte("# v2 git bundle\n")
	// bundleDigest is the SHA-256 of bundle, as sha256sum prints it.
	bundleDigest = "sha256:777c5c9e1b88bc9f8117233b0e523dae9f4aca40a5f77877f8d54eacf3ce8c36"
	errAPI       = errors.New("the API server is away")
)

// world is a cluster without a kubelet, a scheduler or a node agent: the test plays
// them.
type world struct {
	t      *testing.T
	client client.Client
	clock  *clocktesting.FakePassiveClock
	events chan string
	logs   *fakeLogs
	r      *Reconciler

	// fail, if set, is asked before every call; an error it returns is the answer.
	fail   func(verb string, obj runtime.Object) error
	writes []string
}

type fakeLogs struct {
	text string
	err  error
}

func (l *fakeLogs) Open(context.Context, types.NamespacedName, int64) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(l.text)), l.err
}

// testScheme is made once: it is most of what a world costs.
var testScheme = sync.OnceValue(func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return scheme
})

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	w := &world{t: t, clock: clocktesting.NewFakePassiveClock(epoch), events: make(chan string, 1000), logs: &fakeLogs{}}
	w.client = fake.NewClientBuilder().
		WithScheme(testScheme()).
		WithTypeConverters(managedfields.NewDeducedTypeConverter()).
		WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.ZTRun{}, &v1alpha1.ZTProfile{}, &v1alpha1.ProxyPolicy{}, &corev1.Pod{}).
		WithInterceptorFuncs(w.interceptor()).
		Build()
	w.r = &Reconciler{
		Client: w.client, Live: w.client, Events: &events.FakeRecorder{Events: w.events}, Logs: w.logs, Clock: w.clock, Network: &network{enforced},
		RunNamespace: runNamespace, OperatorNamespace: "zt-system", HolderImage: builders.Image("holder", "9").Image,
	}
	return w
}

// interceptor counts writes, fails calls on demand and fills in what only a real API
// server does.
func (w *world) interceptor() interceptor.Funcs {
	serial := 0
	before := func(verb string, obj runtime.Object) error {
		if w.fail != nil {
			if err := w.fail(verb, obj); err != nil {
				return err
			}
		}
		if verb != "get" && verb != "list" {
			w.writes = append(w.writes, fmt.Sprintf("%s %T", verb, obj))
		}
		return nil
	}
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
			if err := before("get", obj); err != nil {
				return err
			}
			return c.Get(ctx, key, obj, o...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			if err := before("list", list); err != nil {
				return err
			}
			return c.List(ctx, list, o...)
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			if err := before("create", obj); err != nil {
				return err
			}
			serial++
			obj.SetUID(types.UID(fmt.Sprintf("uid-%d", serial)))
			obj.SetCreationTimestamp(metav1.NewTime(w.clock.Now()))
			if service, ok := obj.(*corev1.Service); ok {
				service.Spec.ClusterIP = "10.96.7.8"
			}
			return c.Create(ctx, obj, o...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.DeleteOption) error {
			if err := before("delete", obj); err != nil {
				return err
			}
			return c.Delete(ctx, obj, o...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, o ...client.PatchOption) error {
			if err := before("patch", obj); err != nil {
				return err
			}
			return c.Patch(ctx, obj, p, o...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, o ...client.SubResourcePatchOption) error {
			if err := before("patch "+sub, obj); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, obj, p, o...)
		},
	}
}

// ready is a world in which a run can be admitted and placed, and the run.
func readyWorld(t *testing.T, change ...func(*builders.RunBuilder)) (*world, *v1alpha1.ZTRun) {
	t.Helper()
	b := builders.Run("fix").UID("11111111-2222-3333-4444-555555555555").Created(epoch)
	for _, c := range change {
		c(b)
	}
	run := b.Object()
	w := newWorld(t, run,
		builders.Profile("default").Observed(specDigest).Says(builders.Baked(node1, 1)).Object(),
		builders.Policy("default"),
		builders.Bundle(run.Namespace, "fix", bundle),
		builders.Node(node1, true),
	)
	return w, run
}

var runKey = types.NamespacedName{Namespace: "team-a", Name: "fix"}

func (w *world) pass() ctrl.Result {
	w.t.Helper()
	result, err := w.r.Reconcile(context.Background(), ctrl.Request{NamespacedName: runKey})
	if err != nil {
		w.t.Fatalf("a pass failed: %v", err)
	}
	return result
}

// settle makes passes until one writes nothing, and returns its result.
func (w *world) settle() ctrl.Result {
	w.t.Helper()
	for range 20 {
		w.writes = nil
		result := w.pass()
		if len(w.writes) == 0 {
			return result
		}
	}
	w.t.Fatalf("still writing after 20 passes: %v", w.writes)
	return ctrl.Result{}
}

func (w *world) advance(d time.Duration) { w.clock.SetTime(w.clock.Now().Add(d)) }

func (w *world) run() *v1alpha1.ZTRun {
	w.t.Helper()
	run := &v1alpha1.ZTRun{}
	w.get(runKey, run)
	return run
}

func (w *world) get(key types.NamespacedName, obj client.Object) {
	w.t.Helper()
	if err := w.client.Get(context.Background(), key, obj); err != nil {
		w.t.Fatalf("get %T %s: %v", obj, key, err)
	}
}

func (w *world) create(obj client.Object) {
	w.t.Helper()
	if err := w.client.Create(context.Background(), obj); err != nil {
		w.t.Fatalf("create %T: %v", obj, err)
	}
}

// edit changes an object, its status included.
func edit[T client.Object](w *world, obj T, change func(T)) {
	w.t.Helper()
	w.get(client.ObjectKeyFromObject(obj), obj)
	change(obj)
	if err := w.client.Update(context.Background(), obj); err != nil {
		w.t.Fatalf("update %T: %v", obj, err)
	}
	// A terminating object that lost its last finalizer is gone by now.
	if err := w.client.Get(context.Background(), client.ObjectKeyFromObject(obj), obj); err != nil {
		return
	}
	change(obj)
	if err := w.client.Status().Update(context.Background(), obj); client.IgnoreNotFound(err) != nil {
		w.t.Fatalf("update the status of %T: %v", obj, err)
	}
}

func (w *world) remove(obj client.Object) {
	w.t.Helper()
	if err := w.client.Delete(context.Background(), obj); err != nil {
		w.t.Fatalf("delete %T: %v", obj, err)
	}
}

// pod is the pod of a role of the current attempt, which must exist.
func (w *world) pod(role string) *corev1.Pod {
	w.t.Helper()
	run := w.run()
	pod := &corev1.Pod{}
	w.get(types.NamespacedName{Namespace: runNamespace, Name: newScope(run, w.clock.Now()).name(role)}, pod)
	return pod
}

// kubelet makes a pod run and be ready at an address.
func (w *world) kubelet(role, ip string) {
	w.t.Helper()
	edit(w, w.pod(role), func(pod *corev1.Pod) {
		pod.Spec.NodeName = node1
		now := metav1.NewTime(w.clock.Now())
		pod.Status = corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: ip, StartTime: &now,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		}
	})
}

// agent writes the node agent's record.
func (w *world) agent(e *v1alpha1.ExecutionStatus) {
	w.t.Helper()
	edit(w, w.run(), func(run *v1alpha1.ZTRun) { run.Status.Execution = e })
}

func (w *world) condition(name string) metav1.Condition {
	w.t.Helper()
	c := meta.FindStatusCondition(w.run().Status.Conditions, name)
	if c == nil {
		w.t.Fatalf("the run has no condition %s", name)
	}
	return *c
}

func (w *world) wantCondition(name string, status metav1.ConditionStatus, detail v1alpha1.Detail, text string) {
	w.t.Helper()
	c := w.condition(name)
	if c.Status != status || c.Reason != detail.Reason() || !strings.Contains(c.Message, text) {
		w.t.Errorf("condition %s is %s/%s %q, want %s/%s with %q", name, c.Status, c.Reason, c.Message, status, detail.Reason(), text)
	}
}

func (w *world) wantOutcome(result v1alpha1.Result, detail v1alpha1.Detail, text string) {
	w.t.Helper()
	o := w.run().Status.Outcome
	if o == nil {
		w.t.Fatalf("the run has no outcome, want %s/%s", result, detail)
	}
	if o.Result != result || o.Detail != detail || !strings.Contains(o.Message, text) {
		w.t.Errorf("outcome is %s/%s %q, want %s/%s with %q", o.Result, o.Detail, o.Message, result, detail, text)
	}
}

// objects names what is in the run namespace.
func (w *world) objects() []string {
	w.t.Helper()
	var names []string
	for _, list := range runObjectLists() {
		if err := w.client.List(context.Background(), list, client.InNamespace(runNamespace)); err != nil {
			w.t.Fatal(err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, item := range items {
			obj := item.(client.Object)
			names = append(names, kindOf(obj)+" "+obj.GetName())
		}
	}
	return names
}

func (w *world) wantComplete() {
	w.t.Helper()
	w.settle()
	w.wantCondition(v1alpha1.ConditionTornDown, metav1.ConditionTrue, v1alpha1.DetailTornDown, "")
	if c := w.condition(v1alpha1.ConditionComplete); c.Status != metav1.ConditionTrue {
		w.t.Errorf("Complete is %s/%s, want True", c.Status, c.Reason)
	}
	if phase := w.run().Status.Phase; phase != v1alpha1.PhaseComplete {
		w.t.Errorf("phase is %s, want Complete", phase)
	}
	if left := w.objects(); len(left) > 0 {
		w.t.Errorf("objects left behind: %v", left)
	}
}

// drain returns the events so far.
func (w *world) drain() []string {
	var all []string
	for {
		select {
		case e := <-w.events:
			all = append(all, e)
		default:
			return all
		}
	}
}

// Stations on the way of a run. Each begins where the one before it ended.

func (w *world) toVMPod() { w.t.Helper(); w.settle() }

func (w *world) toPlaced() {
	w.t.Helper()
	w.toVMPod()
	w.kubelet(v1alpha1.RoleVM, "10.244.0.5")
	w.settle()
}

func (w *world) toProxyStarting() {
	w.t.Helper()
	w.toPlaced()
	w.agent(builders.Execution(w.run().Status.Attempt, bundleDigest).Object())
	w.settle()
}

func (w *world) toSquidStarting() {
	w.t.Helper()
	w.toProxyStarting()
	w.kubelet(v1alpha1.RoleMirror, "10.244.0.6")
	w.settle()
}

func (w *world) toRunning() {
	w.t.Helper()
	w.toSquidStarting()
	w.kubelet(v1alpha1.RoleSquid, "10.244.0.7")
	w.settle()
	w.agent(builders.Execution(w.run().Status.Attempt, bundleDigest).State(v1alpha1.ExecutionRunning).Object())
	w.settle()
}
