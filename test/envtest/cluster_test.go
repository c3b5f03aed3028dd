package envtest

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/test/builders"
)

const (
	node1 = "node-1"
	// patience bounds a wait for the operator. Nothing here is timed by it.
	patience = 30 * time.Second
)

// bundle of every run, and its SHA-256 as sha256sum prints it.
var (
	bundle       = []byte("# v2 git bundle\n")
	bundleDigest = "sha256:777c5c9e1b88bc9f8117233b0e523dae9f4aca40a5f77877f8d54eacf3ce8c36"
)

const accessLog = `{"v":1,"start":"6.13"}
{"v":1,"t":1767323045.123,"ms":12,"src":"10.244.0.6","method":"GET","url":"https://registry.npmjs.org/semver","result":"TCP_MISS","status":200,"up_status":"200","reply_bytes":1234,"dst":"104.16.0.1","bump":"bump","sni":"registry.npmjs.org","rule":"allow_npm","err":"-","err_detail":"-"}
`

// scriptedLogs stands for the kubelet's log endpoint.
type scriptedLogs struct {
	mu   sync.Mutex
	text map[string]string
}

func (l *scriptedLogs) Open(_ context.Context, pod types.NamespacedName, _ int64) (io.ReadCloser, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, ok := l.text[pod.Name]
	if !ok {
		return nil, fmt.Errorf("pod %s has no log", pod.Name)
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

func (l *scriptedLogs) set(pod, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text[pod] = text
}

func createNode(ctx context.Context, name string) error {
	node := builders.Node(name, true)
	if err := api.Create(ctx, node); err != nil {
		return fmt.Errorf("create node %s: %w", name, err)
	}
	return setNodeReady(ctx, name, true)
}

func setNodeReady(ctx context.Context, name string, ready bool) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node := &corev1.Node{}
		if err := api.Get(ctx, types.NamespacedName{Name: name}, node); err != nil {
			return err
		}
		// The API server taints a node at its creation until a controller finds it
		// ready; there is no such controller here, and no scheduler to mind.
		node.Status = builders.Node(name, ready).Status
		return api.Status().Update(ctx, node)
	})
}

// createProfile applies a profile, and each node's word that it has baked it.
func createProfile(ctx context.Context, b *builders.ProfileBuilder, bakedBy ...string) error {
	profile := b.Object()
	profile.Generation, profile.Status = 0, v1alpha1.ZTProfileStatus{}
	if err := api.Create(ctx, profile); err != nil {
		return fmt.Errorf("create profile %s: %w", profile.Name, err)
	}
	for _, node := range bakedBy {
		if err := applyBake(ctx, profile.Name, builders.Baked(node, profile.Generation)); err != nil {
			return err
		}
	}
	return nil
}

// applyBake writes a node's entry as its node agent does: server-side apply, one
// field owner a node.
func applyBake(ctx context.Context, profile string, entry v1alpha1.NodeBake) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&entry)
	if err != nil {
		return err
	}
	return applyStatus(ctx, entry.Name, "ZTProfile", types.NamespacedName{Name: profile}, "zt-nodeagent/"+entry.Name,
		map[string]any{"nodes": []any{content}})
}

func applyExecution(ctx context.Context, run types.NamespacedName, e *v1alpha1.ExecutionStatus) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(e)
	if err != nil {
		return err
	}
	return applyStatus(ctx, node1, "ZTRun", run, "zt-nodeagent", map[string]any{"execution": content})
}

// applyStatus writes as the agent of a node.
func applyStatus(ctx context.Context, node, kind string, key types.NamespacedName, owner string, status map[string]any) error {
	u := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	u.SetNamespace(key.Namespace)
	u.SetName(key.Name)
	agent, err := agentOn(node)
	if err != nil {
		return err
	}
	return agent.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(owner), client.ForceOwnership)
}

// play is one run and the test's hands on it.
type play struct {
	t   *testing.T
	key types.NamespacedName
	uid types.UID
}

// start applies a run in a namespace of the test's own, with its bundle.
func start(t *testing.T, change ...func(*builders.RunBuilder)) *play {
	t.Helper()
	p := prepare(t)
	p.createBundle()
	p.createRun(change...)
	return p
}

func prepare(t *testing.T) *play {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "team-"}}
	if err := api.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return &play{t: t, key: types.NamespacedName{Namespace: ns.Name, Name: "fix"}}
}

func (p *play) createBundle() {
	p.t.Helper()
	if err := api.Create(p.t.Context(), builders.Bundle(p.key.Namespace, p.key.Name, bundle)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *play) createRun(change ...func(*builders.RunBuilder)) {
	p.t.Helper()
	b := builders.Run(p.key.Name).Namespace(p.key.Namespace)
	for _, c := range change {
		c(b)
	}
	run := b.Object()
	if err := api.Create(p.t.Context(), run); err != nil {
		p.t.Fatal(err)
	}
	p.uid = run.UID
	p.t.Cleanup(p.remove)
}

// remove deletes the run and waits until it is gone, so that no test's run works on
// beside another's.
func (p *play) remove() {
	ctx := context.Background()
	run := &v1alpha1.ZTRun{ObjectMeta: metav1.ObjectMeta{Namespace: p.key.Namespace, Name: p.key.Name}}
	if err := client.IgnoreNotFound(api.Delete(ctx, run)); err != nil {
		p.t.Errorf("delete the run: %v", err)
		return
	}
	p.confirmClean(ctx)
	p.eventually("the run is gone", func() (bool, string) {
		p.reap(ctx)
		err := api.Get(ctx, p.key, run)
		return apierrors.IsNotFound(err), fmt.Sprintf("phase %s: %s", run.Status.Phase, conditionText(run, v1alpha1.ConditionTornDown))
	})
	if left := p.objects(ctx); len(left) > 0 {
		p.t.Errorf("left behind: %v", left)
	}
}

// confirmClean is the node agent's word, if it ever had the run.
func (p *play) confirmClean(ctx context.Context) {
	run := &v1alpha1.ZTRun{}
	if err := api.Get(ctx, p.key, run); err != nil || run.Status.VMPod == nil {
		return
	}
	e := run.Status.Execution
	if e == nil || e.Attempt != run.Status.Attempt {
		e = &v1alpha1.ExecutionStatus{Attempt: run.Status.Attempt}
	}
	if e.Cleaned {
		return
	}
	e.State, e.Cleaned = v1alpha1.ExecutionFinished, true
	if err := client.IgnoreNotFound(applyExecution(ctx, p.key, e)); err != nil {
		p.t.Errorf("confirm that the node is clean: %v", err)
	}
}

// reap is the kubelet's end of a pod's deletion: without it a bound pod stays.
func (p *play) reap(ctx context.Context) {
	pods := &corev1.PodList{}
	if err := api.List(ctx, pods, client.InNamespace(runNamespace), p.mine()); err != nil {
		p.t.Errorf("list pods: %v", err)
	}
	for i := range pods.Items {
		if !pods.Items[i].DeletionTimestamp.IsZero() {
			if err := api.Delete(ctx, &pods.Items[i], client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
				p.t.Errorf("reap a pod: %v", err)
			}
		}
	}
}

func (p *play) mine() client.MatchingLabels {
	return client.MatchingLabels{v1alpha1.RunUIDLabel: string(p.uid)}
}

func (p *play) objects(ctx context.Context) []string {
	var names []string
	for _, list := range []client.ObjectList{
		&corev1.PodList{}, &corev1.ServiceList{}, &corev1.SecretList{}, &corev1.ConfigMapList{}, &networkingv1.NetworkPolicyList{},
	} {
		if err := api.List(ctx, list, client.InNamespace(runNamespace), p.mine()); err != nil {
			p.t.Errorf("list: %v", err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			p.t.Errorf("read a list: %v", err)
		}
		for _, item := range items {
			names = append(names, fmt.Sprintf("%T %s", item, item.(client.Object).GetName()))
		}
	}
	return names
}

func (p *play) run() *v1alpha1.ZTRun {
	p.t.Helper()
	run := &v1alpha1.ZTRun{}
	if err := api.Get(p.t.Context(), p.key, run); err != nil {
		p.t.Fatal(err)
	}
	return run
}

func (p *play) eventually(what string, check func() (bool, string)) {
	p.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		ok, state := check()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("not seen within %s: %s; last: %s", patience, what, state)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func conditionText(run *v1alpha1.ZTRun, name string) string {
	c := meta.FindStatusCondition(run.Status.Conditions, name)
	if c == nil {
		return name + " absent"
	}
	return fmt.Sprintf("%s=%s %s: %s", name, c.Status, c.Reason, c.Message)
}

// until waits for a condition.
func (p *play) until(name string, status metav1.ConditionStatus, detail v1alpha1.Detail) {
	p.t.Helper()
	p.eventually(fmt.Sprintf("%s=%s %s", name, status, detail.Reason()), func() (bool, string) {
		run := p.run()
		c := meta.FindStatusCondition(run.Status.Conditions, name)
		return c != nil && c.Status == status && c.Reason == detail.Reason(), conditionText(run, name)
	})
}

// untilComplete waits for the end of a run, playing the kubelet.
func (p *play) untilComplete(result v1alpha1.Result, detail v1alpha1.Detail) {
	p.t.Helper()
	p.eventually("the run is complete", func() (bool, string) {
		p.reap(p.t.Context())
		run := p.run()
		return run.Status.Phase == v1alpha1.PhaseComplete, conditionText(run, v1alpha1.ConditionTornDown)
	})
	run := p.run()
	if o := run.Status.Outcome; o.Result != result || o.Detail != detail {
		p.t.Errorf("outcome is %s/%s %q, want %s/%s", o.Result, o.Detail, o.Message, result, detail)
	}
	for _, name := range []string{v1alpha1.ConditionTornDown, v1alpha1.ConditionComplete} {
		if !meta.IsStatusConditionTrue(run.Status.Conditions, name) {
			p.t.Errorf("%s", conditionText(run, name))
		}
	}
	if left := p.objects(p.t.Context()); len(left) > 0 {
		p.t.Errorf("left behind: %v", left)
	}
}

func (p *play) podName(role string) string {
	return fmt.Sprintf("ztr-%s-%d-%s", p.uid, max(p.run().Status.Attempt, 1), role)
}

// pod waits for the pod of a role.
func (p *play) pod(role string) *corev1.Pod {
	p.t.Helper()
	pod := &corev1.Pod{}
	p.eventually("pod "+role, func() (bool, string) {
		err := api.Get(p.t.Context(), types.NamespacedName{Namespace: runNamespace, Name: p.podName(role)}, pod)
		return err == nil, fmt.Sprint(err)
	})
	return pod
}

// bind is kube-scheduler's part.
func (p *play) bind(role, node string) {
	p.t.Helper()
	pod := p.pod(role)
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}
	if err := api.SubResource("binding").Create(p.t.Context(), pod, binding); err != nil {
		p.t.Fatalf("bind the %s pod: %v", role, err)
	}
}

// kubelet makes a pod run and be ready at an address.
func (p *play) kubelet(role, ip string) {
	p.t.Helper()
	p.podStatus(role, corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, StartTime: &metav1.Time{Time: time.Now()},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	})
}

func (p *play) podStatus(role string, status corev1.PodStatus) {
	p.t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		pod := p.pod(role)
		pod.Status = status
		return api.Status().Update(p.t.Context(), pod)
	})
	if err != nil {
		p.t.Fatalf("write the status of the %s pod: %v", role, err)
	}
}

// agent is the node agent's part.
func (p *play) agent(e *v1alpha1.ExecutionStatus) {
	p.t.Helper()
	if err := applyExecution(p.t.Context(), p.key, e); err != nil {
		p.t.Fatalf("apply the execution: %v", err)
	}
}

// Stations on the way of a run.

func (p *play) toPlaced() {
	p.t.Helper()
	p.bind(v1alpha1.RoleVM, node1)
	p.kubelet(v1alpha1.RoleVM, "10.244.0.5")
	p.until(v1alpha1.ConditionScheduled, metav1.ConditionTrue, v1alpha1.DetailScheduled)
}

func (p *play) toRunning() {
	p.t.Helper()
	p.toPlaced()
	attempt := p.run().Status.Attempt
	p.agent(builders.Execution(attempt, bundleDigest).Object())
	for role, ip := range map[string]string{v1alpha1.RoleMirror: "10.244.0.6"} {
		p.bind(role, node1)
		p.kubelet(role, ip)
	}
	p.bind(v1alpha1.RoleSquid, node1)
	p.kubelet(v1alpha1.RoleSquid, "10.244.0.7")
	logs.set(p.podName(v1alpha1.RoleSquid), accessLog)
	p.until(v1alpha1.ConditionProxyReady, metav1.ConditionTrue, v1alpha1.DetailProxyReady)
	p.agent(builders.Execution(attempt, bundleDigest).State(v1alpha1.ExecutionRunning).Object())
}

func (p *play) toFinished() {
	p.t.Helper()
	p.toRunning()
	p.agent(builders.Execution(p.run().Status.Attempt, bundleDigest).Proven().Finished().Object())
}
