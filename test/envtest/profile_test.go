package envtest

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/test/builders"
)

func TestABakedNodeIsLabelledAsLongAsItIsReadyAndCurrent(t *testing.T) {
	p := &play{t: t}
	const name, node = "labelled", "node-labelled"
	key := v1alpha1.BakedLabelPrefix + name
	if err := createNode(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	if err := createProfile(t.Context(), builders.Profile(name)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deleteProfile(t, name) })
	label := func(want bool) {
		t.Helper()
		p.eventually(fmt.Sprintf("the node carries the label: %t", want), func() (bool, string) {
			n, profile := &corev1.Node{}, &v1alpha1.ZTProfile{}
			if err := api.Get(t.Context(), types.NamespacedName{Name: node}, n); err != nil {
				t.Fatal(err)
			}
			if err := api.Get(t.Context(), types.NamespacedName{Name: name}, profile); err != nil {
				t.Fatal(err)
			}
			value, has := n.Labels[key]
			digest := profile.Status.SpecDigest
			return has == want && (!want || "sha256:"+value == digest[:min(len(digest), 23)]), fmt.Sprintf("label %q, digest %q", value, digest)
		})
	}
	ready := func(want metav1.ConditionStatus) {
		t.Helper()
		p.eventually(fmt.Sprintf("Ready=%s", want), func() (bool, string) {
			profile := &v1alpha1.ZTProfile{}
			if err := api.Get(t.Context(), types.NamespacedName{Name: name}, profile); err != nil {
				t.Fatal(err)
			}
			c := meta.FindStatusCondition(profile.Status.Conditions, v1alpha1.ConditionReady)
			return c != nil && c.Status == want && c.ObservedGeneration == profile.Generation, fmt.Sprintf("%+v", c)
		})
	}
	bake := func(entry v1alpha1.NodeBake) {
		t.Helper()
		if err := applyBake(t.Context(), name, entry); err != nil {
			t.Fatal(err)
		}
	}
	ready(metav1.ConditionFalse)
	bake(builders.Baked(node, 1))
	label(true)
	ready(metav1.ConditionTrue)

	if err := setNodeReady(t.Context(), node, false); err != nil {
		t.Fatal(err)
	}
	label(false)
	ready(metav1.ConditionFalse)
	if err := setNodeReady(t.Context(), node, true); err != nil {
		t.Fatal(err)
	}
	label(true)

	profile := &v1alpha1.ZTProfile{}
	if err := api.Get(t.Context(), types.NamespacedName{Name: name}, profile); err != nil {
		t.Fatal(err)
	}
	profile.Spec.VM.MemoryMiB = 4096
	if err := api.Update(t.Context(), profile); err != nil {
		t.Fatal(err)
	}
	label(false)
	bake(builders.Baked(node, profile.Generation))
	label(true)

	gone := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	if err := api.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	p.eventually("the deleted node's entry is pruned", func() (bool, string) {
		if err := api.Get(t.Context(), types.NamespacedName{Name: name}, profile); err != nil {
			t.Fatal(err)
		}
		return len(profile.Status.Nodes) == 0 && profile.Status.BakedNodes == 0, fmt.Sprintf("%+v", profile.Status)
	})
}

func TestADeletedProfileTakesItsLabelsAlong(t *testing.T) {
	p := &play{t: t}
	const name = "short-lived"
	if err := createProfile(t.Context(), builders.Profile(name), node1); err != nil {
		t.Fatal(err)
	}
	has := func() bool {
		n := &corev1.Node{}
		if err := api.Get(t.Context(), types.NamespacedName{Name: node1}, n); err != nil {
			t.Fatal(err)
		}
		_, ok := n.Labels[v1alpha1.BakedLabelPrefix+name]
		return ok
	}
	p.eventually("the label", func() (bool, string) { return has(), "no label" })
	deleteProfile(t, name)
	p.eventually("no label", func() (bool, string) { return !has(), "the label is still there" })
}

func TestAPolicyIsValidated(t *testing.T) {
	p := &play{t: t}
	broken := builders.Policy("broken")
	broken.Generation = 0
	broken.Spec.Hosts[0].Paths = []v1alpha1.PathPattern{"^/(unclosed$"}
	if err := api.Create(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Delete(t.Context(), broken) })
	for name, want := range map[string]struct {
		status metav1.ConditionStatus
		detail v1alpha1.Detail
	}{
		"default": {metav1.ConditionTrue, v1alpha1.DetailPolicyValid},
		"broken":  {metav1.ConditionFalse, v1alpha1.DetailPolicyPatternInvalid},
	} {
		p.eventually("Valid of policy "+name, func() (bool, string) {
			policy := &v1alpha1.ProxyPolicy{}
			if err := api.Get(t.Context(), types.NamespacedName{Name: name}, policy); err != nil {
				t.Fatal(err)
			}
			c := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionValid)
			ok := c != nil && c.Status == want.status && c.Reason == want.detail.Reason() && policy.Status.Digest != ""
			return ok && (policy.Status.ConfigDigest != "") == (want.status == metav1.ConditionTrue), fmt.Sprintf("%+v", policy.Status)
		})
	}
}
