package ztprofile

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
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

const labelKey = "baked.zt.ai-dossier.org/default"

var (
	epoch  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	errAPI = errors.New("the API server is away")
)

type world struct {
	t      *testing.T
	client client.Client
	events chan string
	r      *Reconciler
	writes int
	fail   func(client.Object) error
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{t: t, events: make(chan string, 100)}
	before := func(obj client.Object) error {
		w.writes++
		if w.fail == nil {
			return nil
		}
		return w.fail(obj)
	}
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.ZTProfile{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, o ...client.PatchOption) error {
				if err := before(obj); err != nil {
					return err
				}
				return c.Patch(ctx, obj, p, o...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, o ...client.SubResourcePatchOption) error {
				if err := before(obj); err != nil {
					return err
				}
				return c.SubResource(sub).Patch(ctx, obj, p, o...)
			},
		}).Build()
	w.r = &Reconciler{Client: w.client, Events: &events.FakeRecorder{Events: w.events}, Clock: clocktesting.NewFakePassiveClock(epoch)}
	return w
}

func (w *world) pass() error {
	_, err := w.r.Reconcile(context.Background(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "default"}})
	return err
}

func (w *world) profile() *v1alpha1.ZTProfile {
	w.t.Helper()
	p := &v1alpha1.ZTProfile{}
	if err := w.client.Get(context.Background(), types.NamespacedName{Name: "default"}, p); err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *world) label(node string) string {
	w.t.Helper()
	n := &corev1.Node{}
	if err := w.client.Get(context.Background(), types.NamespacedName{Name: node}, n); err != nil {
		w.t.Fatal(err)
	}
	return n.Labels[labelKey]
}

func labelled(node *corev1.Node, value string) *corev1.Node {
	node.Labels = map[string]string{labelKey: value}
	return node
}

func TestNodesAndReadyFollowWhatAgentsReport(t *testing.T) {
	for name, tc := range map[string]struct {
		node    *corev1.Node
		says    []v1alpha1.NodeBake
		labels  bool
		ready   metav1.ConditionStatus
		detail  v1alpha1.Detail
		message string
	}{
		"a ready node that has baked it is labelled": {
			builders.Node("n", true), []v1alpha1.NodeBake{builders.Baked("n", 1)}, true,
			metav1.ConditionTrue, v1alpha1.DetailProfileReady, "nodes that can boot its VMs: 1",
		},
		"a node that is not ready loses its label": {
			labelled(builders.Node("n", false), "old"), []v1alpha1.NodeBake{builders.Baked("n", 1)}, false,
			metav1.ConditionFalse, v1alpha1.DetailNotBakedYet, "n: Baked",
		},
		"a node that has baked an older generation loses its label": {
			labelled(builders.Node("n", true), "old"), []v1alpha1.NodeBake{builders.Baked("n", 0)}, false,
			metav1.ConditionFalse, v1alpha1.DetailNotBakedYet, "an older generation",
		},
		"a node that failed gives the profile its reason": {
			builders.Node("n", true), []v1alpha1.NodeBake{builders.BakeFailed("n", 1, v1alpha1.DetailKVMUnavailable, "no /dev/kvm")}, false,
			metav1.ConditionFalse, v1alpha1.DetailKVMUnavailable, "no /dev/kvm",
		},
		"a node that set the label itself is not believed": {
			labelled(builders.Node("n", true), "forged"), nil, false,
			metav1.ConditionFalse, v1alpha1.DetailNotBakedYet, "none has reported",
		},
		"an outdated label is replaced": {
			labelled(builders.Node("n", true), "old"), []v1alpha1.NodeBake{builders.Baked("n", 1)}, true,
			metav1.ConditionTrue, v1alpha1.DetailProfileReady, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.node, builders.Profile("default").Says(tc.says...).Object())
			if err := w.pass(); err != nil {
				t.Fatal(err)
			}
			p := w.profile()
			want := ""
			if tc.labels {
				want = strings.TrimPrefix(p.Status.SpecDigest, "sha256:")[:16]
			}
			if got := w.label("n"); got != want {
				t.Errorf("the node's label is %q, want %q", got, want)
			}
			c := p.Status.Conditions[0]
			if c.Type != v1alpha1.ConditionReady || c.Status != tc.ready || c.Reason != tc.detail.Reason() || !strings.Contains(c.Message, tc.message) {
				t.Errorf("condition is %s=%s %s %q", c.Type, c.Status, c.Reason, c.Message)
			}
			if told := <-w.events; !strings.Contains(told, tc.detail.Reason()) {
				t.Errorf("the event is %q", told)
			}
			w.writes = 0
			if err := w.pass(); err != nil || w.writes != 0 {
				t.Errorf("a pass that changes nothing answered %v and wrote %d times", err, w.writes)
			}
		})
	}
}

func TestEntriesOfNodesThatAreGoneArePruned(t *testing.T) {
	w := newWorld(t, builders.Node("n", true), builders.Profile("default").Says(builders.Baked("gone", 1), builders.Baked("n", 1)).Object())
	if err := w.pass(); err != nil {
		t.Fatal(err)
	}
	if p := w.profile(); len(p.Status.Nodes) != 1 || p.Status.Nodes[0].Name != "n" || p.Status.BakedNodes != 1 {
		t.Errorf("status has %+v, baked %d", p.Status.Nodes, p.Status.BakedNodes)
	}
}

func TestADeletedProfilesLabelGoes(t *testing.T) {
	w := newWorld(t, labelled(builders.Node("n", true), "old"))
	if err := w.pass(); err != nil {
		t.Fatal(err)
	}
	if got := w.label("n"); got != "" {
		t.Errorf("the node keeps the label %q", got)
	}
}

func TestReadyIsNotSaidBeforeTheLabelIsThere(t *testing.T) {
	w := newWorld(t, builders.Node("n", true), builders.Node("other", true),
		builders.Profile("default").Says(builders.Baked("n", 1), builders.Baked("other", 1)).Object())
	w.fail = func(obj client.Object) error {
		if obj.GetName() == "n" {
			return errAPI
		}
		return nil
	}
	if err := w.pass(); !errors.Is(err, errAPI) {
		t.Fatalf("the pass answered %v, want the API's error", err)
	}
	if got := w.profile().Status.Conditions; len(got) > 0 {
		t.Errorf("conditions are %+v", got)
	}
	if w.label("other") == "" {
		t.Error("one node that failed kept the others from their label")
	}
	w.fail = nil
	if err := w.pass(); err != nil || w.label("n") == "" {
		t.Errorf("the next pass answered %v, label %q", err, w.label("n"))
	}
}

func TestTheDigestCoversWhatIsBakedAndNothingElse(t *testing.T) {
	digest := func(change func(*v1alpha1.ZTProfileSpec)) string {
		t.Helper()
		d, err := SpecDigest(builders.Profile("default").Spec(change).Object().Spec)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	same := digest(func(*v1alpha1.ZTProfileSpec) {})
	for name, tc := range map[string]struct {
		change  func(*v1alpha1.ZTProfileSpec)
		differs bool
	}{
		"guest":   {func(s *v1alpha1.ZTProfileSpec) { s.Guest = builders.Image("guest", "f") }, true},
		"runtime": {func(s *v1alpha1.ZTProfileSpec) { s.Runtimes[0].Image = builders.Image("w", "f").Image }, true},
		"memory":  {func(s *v1alpha1.ZTProfileSpec) { s.VM.MemoryMiB = 4096 }, true},
		"limits":  {func(s *v1alpha1.ZTProfileSpec) { s.Limits.RunSeconds = 1 }, false},
		"squid":   {func(s *v1alpha1.ZTProfileSpec) { s.Proxy.Squid.PinnedImage = builders.Image("squid", "f") }, false},
	} {
		if got := digest(tc.change); (got != same) != tc.differs {
			t.Errorf("changing %s: digest differs is %t, want %t", name, got != same, tc.differs)
		}
	}
}
