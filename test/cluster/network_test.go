//go:build cluster

package cluster

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/controllers/netprobe"
)

// holderImage is the image that the installed operator gives its vm pods.
func holderImage(t *testing.T) string {
	t.Helper()
	operators := &corev1.PodList{}
	if err := kube.List(t.Context(), operators, client.InNamespace("zt-system"), client.MatchingLabels{"app.kubernetes.io/component": "operator"}); err != nil {
		t.Fatal(err)
	}
	for _, operator := range operators.Items {
		for _, arg := range operator.Spec.Containers[0].Args {
			if image, ok := strings.CutPrefix(arg, "--holder-image="); ok {
				return image
			}
		}
	}
	t.Fatal("the operator is given no holder image")
	return ""
}

// probe makes one probe in a namespace of the test's own, beside the given policies,
// and returns what it found.
func probe(t *testing.T, beside ...*networkingv1.NetworkPolicy) netprobe.State {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "zt-test-probe-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := kube.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kube.Delete(context.Background(), ns) })
	for _, policy := range beside {
		policy.Namespace = ns.Name
		if err := kube.Create(t.Context(), policy); err != nil {
			t.Fatal(err)
		}
	}
	prober := &netprobe.Prober{
		Client: kube, Live: kube, Clock: clock.RealClock{}, Log: testr.New(t), RunNamespace: ns.Name,
		Image: holderImage(t),
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	begun := time.Now()
	go func() { ended <- prober.Start(ctx) }()
	for s := prober.State(); !s.Enforced && !s.Refuted && time.Since(begun) < 2*time.Minute; s = prober.State() {
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("known after %s", time.Since(begun))
	cancel()
	<-ended
	for kind, list := range map[string]client.ObjectList{"pods": &corev1.PodList{}, "networkpolicies": &networkingv1.NetworkPolicyList{}} {
		if err := kube.List(t.Context(), list, client.InNamespace(ns.Name)); err != nil {
			t.Fatal(err)
		}
		want := 0
		if kind == "networkpolicies" {
			want = len(beside)
		}
		if n := meta.LenList(list); n != want {
			t.Errorf("%d %s are there after the probe, want %d", n, kind, want)
		}
	}
	return prober.State()
}

func TestTheProbeSeesThatTheClusterEnforcesNetworkPolicies(t *testing.T) {
	if s := probe(t); !s.Enforced {
		t.Errorf("%+v", s)
	}
}

// A second policy can only add to what the first admits: this is what a cluster
// without enforcement looks like, and what somebody with rights here could do.
func TestTheProbeSeesAPolicyThatOpensEverything(t *testing.T) {
	s := probe(t, &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "allow-all"},
		Spec: networkingv1.NetworkPolicySpec{
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{}}, Egress: []networkingv1.NetworkPolicyEgressRule{{}},
		},
	})
	if s.Enforced || !s.Refuted {
		t.Errorf("%+v", s)
	}
}

func TestEveryProfileShowsThatNetworkPoliciesAreEnforced(t *testing.T) {
	for begun := time.Now(); ; time.Sleep(time.Second) {
		profiles := &v1alpha1.ZTProfileList{}
		if err := kube.List(t.Context(), profiles); err != nil {
			t.Fatal(err)
		}
		shown := 0
		for _, p := range profiles.Items {
			if meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionNetworkPolicyEnforced) {
				shown++
			}
		}
		if shown > 0 && shown == len(profiles.Items) {
			return
		}
		if time.Since(begun) > settle {
			t.Fatalf("%d of %d profiles show it", shown, len(profiles.Items))
		}
	}
}
