package ztrun

import (
	"context"
	"crypto/rand"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/policy"
	"github.com/ai-dossier/zt-operator/internal/proxyca"
)

const (
	squidUID       = 13
	squidConfigDir = "/etc/zt/squid"
	squidRunDir    = "/run/squid"
	squidConfigKey = "squid.conf"
	// caPairKey is certificate and key in one file, as Squid's tls-cert wants them.
	caPairKey   = "ca.pem"
	upstreamKey = "upstream-ca.pem"

	policyDigestAnnotation = "zt.ai-dossier.org/policy-digest"
)

// ensureCA makes the CA that Squid signs its impersonated certificates with: one for
// each attempt, so that a stolen key is worth nothing to another.
func (r *Reconciler) ensureCA(ctx context.Context, s *scope) (*corev1.Secret, error) {
	existing := &corev1.Secret{}
	found, err := r.read(ctx, types.NamespacedName{Namespace: r.RunNamespace, Name: s.name(objectSquidCA)}, existing)
	if err != nil {
		return nil, fmt.Errorf("read the proxy CA: %w", err)
	}
	if found {
		return existing, nil
	}
	cert, key, err := proxyca.New(s.now, rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the proxy CA: %w", err)
	}
	return ensure(ctx, r, v1alpha1.ConditionProxyReady, &corev1.Secret{
		ObjectMeta: r.meta(s, objectSquidCA, v1alpha1.RoleSquid),
		Immutable:  ptr.To(true),
		Data:       map[string][]byte{caCertKey: cert, caPairKey: append(append([]byte{}, cert...), key...)},
	})
}

// squidService gives Squid an address before it runs.
func (r *Reconciler) squidService(s *scope) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: r.meta(s, v1alpha1.RoleSquid, v1alpha1.RoleSquid),
		Spec: corev1.ServiceSpec{
			Selector:   s.labels(v1alpha1.RoleSquid),
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Ports:      []corev1.ServicePort{{Name: "proxy", Port: policy.SquidPort, TargetPort: intstr.FromInt32(policy.SquidPort)}},
		},
	}
}

// ensureSquidConfig renders the policy for this attempt's mirror, once: what a
// running Squid enforces does not follow a policy that changes.
func (r *Reconciler) ensureSquidConfig(ctx context.Context, s *scope, ecosystem v1alpha1.Ecosystem) (*corev1.Secret, error) {
	existing := &corev1.Secret{}
	found, err := r.read(ctx, types.NamespacedName{Namespace: r.RunNamespace, Name: s.name(objectSquidConfig)}, existing)
	if err != nil {
		return nil, fmt.Errorf("read Squid's configuration: %w", err)
	}
	if found {
		return existing, nil
	}
	applied := appliedPolicy{Policy: s.policy.Spec, Ecosystem: ecosystem, MirrorIP: ipv4(s.mirror)}
	config, err := policy.RenderSquid(applied.Policy, applied.params())
	if err != nil {
		return nil, refuse(v1alpha1.ResultNotAdmitted, v1alpha1.DetailPolicyInvalid, s.policy.Name,
			"ProxyPolicy %q cannot be applied to this run: %v", s.policy.Name, err)
	}
	text, err := applied.encode()
	if err != nil {
		return nil, err
	}
	secret := &corev1.Secret{
		ObjectMeta: r.meta(s, objectSquidConfig, v1alpha1.RoleSquid),
		Immutable:  ptr.To(true),
		Data:       map[string][]byte{squidConfigKey: []byte(config), appliedKey: text},
	}
	secret.Annotations[policyDigestAnnotation] = policy.Digest(s.policy.Spec)
	if ref := s.profile.Spec.Proxy.CABundle; ref != nil {
		pem, err := r.caBundle(ctx, ref)
		if err != nil {
			return nil, err
		}
		secret.Data[upstreamKey] = []byte(pem)
	}
	return ensure(ctx, r, v1alpha1.ConditionProxyReady, secret)
}

// squidPod is the attempt's only way out, and the only pod with DNS.
func (r *Reconciler) squidPod(s *scope) *corev1.Pod {
	pod := r.runPod(s, v1alpha1.RoleSquid, squidUID)
	// Registry names are absolute: no search list, no guessing.
	pod.Spec.DNSConfig = &corev1.PodDNSConfig{Options: []corev1.PodDNSConfigOption{{Name: "ndots", Value: ptr.To("1")}}}
	container := r.runContainer("squid", s.profile.Spec.Proxy.Squid.Image)
	container.Ports = []corev1.ContainerPort{{Name: "proxy", ContainerPort: policy.SquidPort}}
	container.StartupProbe = listening(policy.SquidPort)
	container.Resources = podResources(100, 64, s.profile.Spec.Proxy.Squid.MemoryMiB)
	container.VolumeMounts = []corev1.VolumeMount{
		{Name: "config", MountPath: squidConfigDir, ReadOnly: true},
		{Name: "run", MountPath: squidRunDir},
		{Name: "tmp", MountPath: "/tmp"},
	}
	pod.Spec.Containers = []corev1.Container{container}
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{
				{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: s.name(objectSquidConfig)}}},
				{Secret: &corev1.SecretProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: s.name(objectSquidCA)},
					Items:                []corev1.KeyToPath{{Key: caPairKey, Path: caPairKey}},
				}},
			},
		}}},
		scratch("run", 256),
		scratch("tmp", 64),
	}
	return pod
}
