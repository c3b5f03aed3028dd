package netprobe

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	probe "github.com/ai-dossier/zt-operator/internal/netprobe"
)

const (
	serverName = "zt-netprobe-server"
	clientName = "zt-netprobe-client"
	// partLabel marks everything of a probe: server or client.
	partLabel = "zt.ai-dossier.org/netprobe"

	partServer = "server"
	partClient = "client"
)

func (p *Prober) meta(name, part string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: p.RunNamespace, Name: name,
		Labels: map[string]string{"app.kubernetes.io/managed-by": "zt-operator", partLabel: part},
	}
}

// policies admit the open port on both sides, and each of the two others on one side
// only.
func (p *Prober) policies() []*networkingv1.NetworkPolicy {
	peer := func(part string) []networkingv1.NetworkPolicyPeer {
		return []networkingv1.NetworkPolicyPeer{{PodSelector: selector(part)}}
	}
	both := []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
	return []*networkingv1.NetworkPolicy{
		{ObjectMeta: p.meta(serverName, partServer), Spec: networkingv1.NetworkPolicySpec{
			PodSelector: *selector(partServer), PolicyTypes: both,
			Ingress: []networkingv1.NetworkPolicyIngressRule{{From: peer(partClient), Ports: ports(probe.OpenPort, probe.EgressPort)}},
		}},
		{ObjectMeta: p.meta(clientName, partClient), Spec: networkingv1.NetworkPolicySpec{
			PodSelector: *selector(partClient), PolicyTypes: both,
			Egress: []networkingv1.NetworkPolicyEgressRule{{To: peer(partServer), Ports: ports(probe.OpenPort, probe.IngressPort)}},
		}},
	}
}

func selector(part string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{partLabel: part}}
}

func ports(numbers ...int32) (list []networkingv1.NetworkPolicyPort) {
	for _, n := range numbers {
		list = append(list, networkingv1.NetworkPolicyPort{Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(intstr.FromInt32(n))})
	}
	return list
}

func numbered(name string, i int) string { return fmt.Sprintf("%s-%d", name, i) }

func (p *Prober) server(i int, node string) *corev1.Pod {
	return p.pod(numbered(serverName, i), partServer, node, "probe-serve")
}

func (p *Prober) client(i int, node string, servers ...string) *corev1.Pod {
	return p.pod(numbered(clientName, i), partClient, node, append([]string{"probe-dial"}, servers...)...)
}

// machine is what a pod of this image, and a VM, need of a node.
var machine = map[string]string{corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}

const probeUID = 65532

// pod is restricted like every pod of a run, and ends by itself if the operator does
// not come back to it.
func (p *Prober) pod(name, part, node string, args ...string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: p.meta(name, part),
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			ActiveDeadlineSeconds:         ptr.To(int64((probeBound + cleanupBound).Seconds())),
			TerminationGracePeriodSeconds: ptr.To[int64](1),
			AutomountServiceAccountToken:  ptr.To(false),
			EnableServiceLinks:            ptr.To(false),
			NodeSelector:                  machine,
			Affinity:                      onNode(node),
			DNSPolicy:                     corev1.DNSNone,
			DNSConfig:                     &corev1.PodDNSConfig{Nameservers: []string{"127.0.0.1"}},
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](probeUID), RunAsGroup: ptr.To[int64](probeUID),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "probe", Image: p.Image, Args: args, ImagePullPolicy: corev1.PullIfNotPresent,
				TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi")},
					Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},
				},
			}},
		},
	}
}
