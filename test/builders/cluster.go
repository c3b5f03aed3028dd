package builders

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/policy"
)

// Image is a reference pinned by a digest made of one hex digit.
func Image(name, digit string) v1alpha1.PinnedImage {
	return v1alpha1.PinnedImage{Image: "registry.example.com/zt/" + name + "@sha256:" + strings.Repeat(digit, 64)}
}

// ProfileBuilder builds a ZTProfile.
type ProfileBuilder struct{ p v1alpha1.ZTProfile }

// Profile is a profile for npm runs under policy default, not baked anywhere.
func Profile(name string) *ProfileBuilder {
	b := &ProfileBuilder{}
	b.p.Name, b.p.Generation = name, 1
	b.p.Spec = v1alpha1.ZTProfileSpec{
		VM:     v1alpha1.VMSpec{CPUs: 2, MemoryMiB: 2048, DiskMiB: 4096, Accelerator: v1alpha1.AcceleratorPolicyAuto},
		Worker: v1alpha1.WorkerSpec{PIDs: 1024, MemoryMiB: 1536, TmpMiB: 512},
		Guest:  Image("guest", "1"),
		Runtimes: []v1alpha1.Runtime{{
			PinnedImage: Image("worker-node-22", "2"), Name: "node-22", Language: v1alpha1.LanguageNode, Version: "22.23.5",
			Managers: []v1alpha1.Manager{{Name: v1alpha1.EcosystemNPM, Version: "10.9.9"}},
		}},
		Proxy: v1alpha1.ProxySpec{
			Squid: v1alpha1.Squid{PinnedImage: Image("squid", "3"), MemoryMiB: 512},
			Mirrors: []v1alpha1.Mirror{{
				PinnedImage: Image("mirror-npm", "4"), Ecosystem: v1alpha1.EcosystemNPM, MemoryMiB: 1024, CacheMiB: 4096,
			}},
			PolicyRef: v1alpha1.ObjectRef{Name: "default"},
		},
		Limits: v1alpha1.ProfileLimits{PlacementSeconds: 600, ProvisioningSeconds: 600, CommandSeconds: 1200, RunSeconds: 7200},
	}
	return b
}

// CABundle names the registries' CA bundle.
func (b *ProfileBuilder) CABundle(name, key string) *ProfileBuilder {
	b.p.Spec.Proxy.CABundle = &v1alpha1.ConfigMapKeyRef{Name: name, Key: key}
	return b
}

// Spec changes the spec.
func (b *ProfileBuilder) Spec(change func(*v1alpha1.ZTProfileSpec)) *ProfileBuilder {
	change(&b.p.Spec)
	return b
}

// Observed is the status the operator gives the profile.
func (b *ProfileBuilder) Observed(specDigest string) *ProfileBuilder {
	b.p.Status.ObservedGeneration, b.p.Status.SpecDigest = b.p.Generation, specDigest
	return b
}

// Says adds what a node reports.
func (b *ProfileBuilder) Says(nodes ...v1alpha1.NodeBake) *ProfileBuilder {
	b.p.Status.Nodes = append(b.p.Status.Nodes, nodes...)
	return b
}

// Object returns the profile.
func (b *ProfileBuilder) Object() *v1alpha1.ZTProfile { return b.p.DeepCopy() }

// Baked is a node's report that it has baked a generation.
func Baked(node string, generation int64) v1alpha1.NodeBake {
	return v1alpha1.NodeBake{
		Name: node, State: v1alpha1.BakeBaked, Generation: generation, Accelerator: v1alpha1.AcceleratorTCG,
		ManifestDigest: "sha256:" + strings.Repeat("5", 64),
	}
}

// BakeFailed is a node's report that it could not.
func BakeFailed(node string, generation int64, detail v1alpha1.Detail, message string) v1alpha1.NodeBake {
	return v1alpha1.NodeBake{Name: node, State: v1alpha1.BakeFailed, Generation: generation, Detail: detail, Message: message}
}

// Policy is the policy the operator ships, under a name.
func Policy(name string) *v1alpha1.ProxyPolicy {
	return &v1alpha1.ProxyPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1},
		Spec:       policy.Default(),
	}
}

// Node is a node that is ready, or not.
func Node(name string, ready bool) *corev1.Node {
	status := corev1.ConditionTrue
	if !ready {
		status = corev1.ConditionFalse
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}},
	}
}

// Bundle is a ConfigMap with a git bundle under the default key.
func Bundle(namespace, name string, bundle []byte) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		BinaryData: map[string][]byte{v1alpha1.DefaultBundleKey: bundle},
	}
}
