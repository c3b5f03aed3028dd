package netprobe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	probe "github.com/ai-dossier/zt-operator/internal/netprobe"
)

// kubelet plays what becomes of the probe's pods.
type kubelet struct {
	// exit status and message of the client; the server's ip and end.
	exit     int32
	says     string
	serverIP string
	serverUp bool
	fail     error
	// clients are the exit statuses of those on some nodes, in place of exit.
	clients map[string]int32
	// stuck are nodes on which no pod starts.
	stuck map[string]bool

	mu      sync.Mutex
	created []string
	dialed  map[string][]string
}

func (k *kubelet) run(pod *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.created = append(k.created, pod.Name)
	node := nodeOf(pod)
	if k.stuck[node] {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "Insufficient pods"}}
		return
	}
	terminated := func(exit int32, says string) {
		pod.Status.Phase = corev1.PodFailed
		if exit == 0 {
			pod.Status.Phase = corev1.PodSucceeded
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: exit, Message: says},
		}}}
	}
	switch {
	case pod.Labels[partLabel] == partClient:
		if k.dialed == nil {
			k.dialed = map[string][]string{}
		}
		k.dialed[node] = pod.Spec.Containers[0].Args[1:]
		exit, known := k.clients[node]
		if !known {
			exit = k.exit
		}
		terminated(exit, k.says)
	case k.serverUp:
		pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, k.serverIP+strings.TrimPrefix(node, "n")
	default:
		terminated(1, "address in use")
	}
}

func nodeOf(pod *corev1.Pod) string {
	if pod.Spec.Affinity == nil {
		return ""
	}
	return pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values[0]
}

func node(name string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{}
	n.Name, n.Labels = name, map[string]string{corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	for _, c := range change {
		c(n)
	}
	return n
}

func newProber(t *testing.T, k *kubelet, nodes ...client.Object) (*Prober, client.Client, *clocktesting.FakeClock) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if len(nodes) == 0 {
		nodes = append(nodes, node("n1"))
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(nodes...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, o ...client.CreateOption) error {
			if k.fail != nil {
				return k.fail
			}
			if pod, ok := object.(*corev1.Pod); ok {
				k.run(pod)
			}
			return c.Create(ctx, object, o...)
		},
	}).Build()
	now := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	return &Prober{Client: api, Live: api, Clock: now, Log: logr.Discard(), RunNamespace: "zt-runs", Image: "holder"}, api, now
}

func running(exit int32, says string) *kubelet {
	return &kubelet{exit: exit, says: says, serverIP: "10.244.0.", serverUp: true}
}

// left names what is in the run namespace.
func left(t *testing.T, api client.Client) (names []string) {
	t.Helper()
	pods, policies := &corev1.PodList{}, &networkingv1.NetworkPolicyList{}
	for _, list := range []client.ObjectList{pods, policies} {
		if err := api.List(context.Background(), list, client.InNamespace("zt-runs")); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range pods.Items {
		names = append(names, p.Name)
	}
	for _, p := range policies.Items {
		names = append(names, p.Name)
	}
	return names
}

func TestAProbeEndsInAStateAndLeavesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		kubelet           *kubelet
		enforced, refuted bool
		says              string
		again             time.Duration
	}{
		"policies are enforced":     {running(probe.ExitEnforced, ""), true, false, "on node n1", interval},
		"policies are not enforced": {running(probe.ExitNotEnforced, "egress: answered"), false, true, "egress: answered", retry},
		"the pods cannot talk":      {running(probe.ExitBroken, "no answer"), false, false, "could not even talk", retry},
		"the client is killed":      {running(137, ""), false, false, "exit status 137", retry},
		"the server does not start": {&kubelet{}, false, false, "address in use", retry},
		"the API server refuses it": {&kubelet{fail: errors.New("quota")}, false, false, "quota", retry},
	} {
		t.Run(name, func(t *testing.T) {
			p, api, _ := newProber(t, tc.kubelet)
			if s := p.State(); s.Enforced || s.Refuted || s.Message == "" {
				t.Errorf("before any probe: %+v", s)
			}
			if again := p.once(context.Background()); again != tc.again {
				t.Errorf("again after %s, want %s", again, tc.again)
			}
			s := p.State()
			if s.Enforced != tc.enforced || s.Refuted != tc.refuted || !strings.Contains(s.Message, tc.says) {
				t.Errorf("%+v, want enforced %v, refuted %v, %q", s, tc.enforced, tc.refuted, tc.says)
			}
			if names := left(t, api); len(names) > 0 {
				t.Errorf("left behind: %v", names)
			}
		})
	}
}

func TestWhatAnEarlierProbeLeftIsRemovedFirst(t *testing.T) {
	k := running(probe.ExitEnforced, "")
	p, api, _ := newProber(t, k)
	other := &corev1.Pod{}
	other.Namespace, other.Name = "zt-runs", "ztr-a-run"
	stale := p.server(0, "n1")
	stale.Name = "zt-netprobe-of-another-version"
	for _, object := range []client.Object{other, stale, p.policies()[0]} {
		if err := api.Create(context.Background(), object); err != nil {
			t.Fatal(err)
		}
	}
	p.once(context.Background())
	if names := left(t, api); !slices.Equal(names, []string{"ztr-a-run"}) || !p.State().Enforced {
		t.Errorf("%v, %+v", names, p.State())
	}
}

func TestAProofExpiresAndIsNotLostByAFailedProbe(t *testing.T) {
	k := running(probe.ExitEnforced, "")
	p, _, now := newProber(t, k)
	p.once(context.Background())
	now.Step(interval)
	k.fail = errors.New("quota")
	p.once(context.Background())
	if s := p.State(); !s.Enforced {
		t.Errorf("a probe that could not be made ended the proof: %+v", s)
	}
	now.Step(validity - interval)
	if s := p.State(); s.Enforced || s.Refuted || !strings.Contains(s.Message, "quota") {
		t.Errorf("the proof did not expire: %+v", s)
	}
	k.fail = nil
	p.once(context.Background())
	if s := p.State(); !s.Enforced {
		t.Errorf("%+v", s)
	}
	k.exit = probe.ExitNotEnforced
	p.once(context.Background())
	if s := p.State(); s.Enforced || !s.Refuted {
		t.Errorf("a refutation left the proof: %+v", s)
	}
}

func TestOnlyChangesAreTold(t *testing.T) {
	k := running(probe.ExitEnforced, "")
	p, _, _ := newProber(t, k)
	told := p.Changed()
	for range 3 {
		p.once(context.Background())
	}
	k.exit = probe.ExitNotEnforced
	p.once(context.Background())
	if len(told) != 2 {
		t.Errorf("told %d times, want 2", len(told))
	}
}

func TestItStopsWithTheManager(t *testing.T) {
	p, api, _ := newProber(t, running(probe.ExitEnforced, ""))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Start(ctx) }()
	for !p.State().Enforced {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if names := left(t, api); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

func TestEachDeniedPortIsDeniedByOneSideAlone(t *testing.T) {
	p, _, _ := newProber(t, running(0, ""))
	policies := p.policies()
	got := map[string]string{
		"server admits": fmt.Sprint(portNumbers(policies[0].Spec.Ingress[0].Ports)), "client admits": fmt.Sprint(portNumbers(policies[1].Spec.Egress[0].Ports)),
	}
	if got["server admits"] != fmt.Sprint([]int32{probe.OpenPort, probe.EgressPort}) || got["client admits"] != fmt.Sprint([]int32{probe.OpenPort, probe.IngressPort}) {
		t.Errorf("%v", got)
	}
	if len(policies[0].Spec.Egress)+len(policies[1].Spec.Ingress) != 0 {
		t.Error("the policies admit more than the probe")
	}
}

func portNumbers(ports []networkingv1.NetworkPolicyPort) (numbers []int32) {
	for _, p := range ports {
		numbers = append(numbers, p.Port.IntVal)
	}
	return numbers
}

func TestEachNodeIsBothEndsOfAPairWithinItAndOfOneThatLeavesIt(t *testing.T) {
	t.Parallel()
	k := running(probe.ExitEnforced, "")
	p, api, _ := newProber(t, k, node("n1"), node("n2"), node("n3"))
	p.once(context.Background())
	want := map[string][]string{
		"n1": {"n1=10.244.0.1", "n2=10.244.0.2"}, "n2": {"n2=10.244.0.2", "n3=10.244.0.3"}, "n3": {"n3=10.244.0.3", "n1=10.244.0.1"},
	}
	if fmt.Sprint(k.dialed) != fmt.Sprint(want) {
		t.Errorf("dialed %v, want %v", k.dialed, want)
	}
	if s := p.State(); !s.Enforced || !strings.HasSuffix(s.Message, "within and between nodes n1, n2, n3") {
		t.Errorf("%+v", s)
	}
	if names := left(t, api); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

func TestAProofNeedsEveryPairAndARefutationOne(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		clients           map[string]int32
		enforced, refuted bool
		says              string
	}{
		"all agree":                               {nil, true, false, "n1, n2, n3"},
		"one node does not enforce":               {map[string]int32{"n3": probe.ExitNotEnforced}, false, true, "from node n3, to node n1"},
		"one node does not, another is broken":    {map[string]int32{"n1": probe.ExitBroken, "n2": probe.ExitNotEnforced}, false, true, "from node n2"},
		"the pods of one node cannot talk at all": {map[string]int32{"n2": probe.ExitBroken}, false, false, "on node n2: two pods could not even talk"},
		"the client of one node is killed":        {map[string]int32{"n2": 137}, false, false, "on node n2: pod zt-netprobe-client-1 ended: exit status 137"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := running(probe.ExitEnforced, "to node n1: answered")
			k.clients = tc.clients
			p, api, _ := newProber(t, k, node("n1"), node("n2"), node("n3"))
			p.once(context.Background())
			if s := p.State(); s.Enforced != tc.enforced || s.Refuted != tc.refuted || !strings.Contains(s.Message, tc.says) {
				t.Errorf("%+v, want enforced %v, refuted %v, %q", s, tc.enforced, tc.refuted, tc.says)
			}
			if names := left(t, api); len(names) > 0 {
				t.Errorf("left behind: %v", names)
			}
		})
	}
}

func TestNodesThatTakeNoPodsAreLeftOut(t *testing.T) {
	t.Parallel()
	k := running(probe.ExitEnforced, "")
	p, _, _ := newProber(t, k,
		node("n1", func(n *corev1.Node) { n.Spec.Unschedulable = true }),
		node("n2", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }),
		node("n3", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}} }),
		node("n4", func(n *corev1.Node) { n.Labels[corev1.LabelArchStable] = "arm64" }),
		node("n5", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectPreferNoSchedule}}
		}),
	)
	p.once(context.Background())
	if s := p.State(); !s.Enforced || !strings.HasSuffix(s.Message, "on node n5") {
		t.Errorf("%+v", s)
	}
	none, _, _ := newProber(t, k, node("n1", func(n *corev1.Node) { n.Spec.Unschedulable = true }))
	none.once(context.Background())
	if s := none.State(); s.Enforced || s.Refuted || !strings.Contains(s.Message, "no node is ready") {
		t.Errorf("%+v", s)
	}
}

// A node on which the probe does not start runs no pod of a run either.
func TestANodeOnWhichNothingStartsIsNamedAndNoObstacle(t *testing.T) {
	t.Parallel()
	k := running(probe.ExitEnforced, "")
	k.stuck = map[string]bool{"n1": true}
	p, api, _ := newProber(t, k, node("n1"), node("n2"))
	p.startBound = 50 * time.Millisecond
	p.once(context.Background())
	if s := p.State(); !s.Enforced || !strings.Contains(s.Message, "on node n2; not seen: pod zt-netprobe-server-0") || !strings.Contains(s.Message, "Insufficient pods") {
		t.Errorf("%+v", s)
	}
	k.stuck["n2"] = true
	p.once(context.Background())
	if again := p.once(context.Background()); again != retry {
		t.Errorf("a probe without any pod is made again after %s", again)
	}
	if names := left(t, api); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

func TestEveryNodeOfALargeClusterHasItsTurn(t *testing.T) {
	t.Parallel()
	k := running(probe.ExitEnforced, "")
	var nodes []client.Object
	for i := range 10 {
		nodes = append(nodes, node(fmt.Sprintf("n%d", i)))
	}
	p, api, _ := newProber(t, k, nodes...)
	seen := map[string]int{}
	for range 5 {
		k.dialed = nil
		p.once(context.Background())
		if len(k.dialed) != maxNodes {
			t.Fatalf("a probe of %d nodes: %v", len(k.dialed), k.dialed)
		}
		for name := range k.dialed {
			seen[name]++
		}
	}
	for _, n := range nodes {
		if seen[n.GetName()] != 2 {
			t.Errorf("after five probes %s was in %d, want 2: %v", n.GetName(), seen[n.GetName()], seen)
		}
	}
	// One that is gone, and with it the place where the next probe would go on.
	if err := api.Delete(context.Background(), node("n9")); err != nil {
		t.Fatal(err)
	}
	if got, err := p.pick(context.Background()); err != nil || got[0] != "n0" {
		t.Errorf("%v, %v", got, err)
	}
}
