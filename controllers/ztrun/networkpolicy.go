package ztrun

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/cacheaudit"
	"github.com/ai-dossier/zt-operator/internal/policy"
)

const (
	namespaceNameLabel = "kubernetes.io/metadata.name"
	componentLabel     = "app.kubernetes.io/component"
	nodeAgentComponent = "node-agent"

	dnsNamespace = "kube-system"
	dnsAppLabel  = "k8s-app"
	dnsApp       = "kube-dns"
)

// vmNetworkPolicy cuts the vm pod off from everything. The node agent needs no
// exception: it enters the pod's network namespace and dials the loopback there.
func (r *Reconciler) vmNetworkPolicy(s *scope) *networkingv1.NetworkPolicy {
	return r.networkPolicy(s, v1alpha1.RoleVM, nil, nil)
}

func (r *Reconciler) proxyNetworkPolicies(s *scope) []*networkingv1.NetworkPolicy {
	toSquid := networkingv1.NetworkPolicyPeer{PodSelector: selector(s.labels(v1alpha1.RoleSquid))}
	fromMirror := networkingv1.NetworkPolicyPeer{PodSelector: selector(s.labels(v1alpha1.RoleMirror))}
	fromAgent := networkingv1.NetworkPolicyPeer{
		NamespaceSelector: selector(map[string]string{namespaceNameLabel: r.OperatorNamespace}),
		PodSelector:       selector(map[string]string{componentLabel: nodeAgentComponent}),
	}
	return []*networkingv1.NetworkPolicy{
		r.networkPolicy(s, v1alpha1.RoleMirror,
			[]networkingv1.NetworkPolicyIngressRule{{
				From:  []networkingv1.NetworkPolicyPeer{fromAgent},
				Ports: append(ports(policy.VerdaccioPort, corev1.ProtocolTCP), ports(cacheaudit.Port, corev1.ProtocolTCP)...),
			}},
			[]networkingv1.NetworkPolicyEgressRule{{
				To: []networkingv1.NetworkPolicyPeer{toSquid}, Ports: ports(policy.SquidPort, corev1.ProtocolTCP),
			}}),
		r.networkPolicy(s, v1alpha1.RoleSquid,
			[]networkingv1.NetworkPolicyIngressRule{{
				From: []networkingv1.NetworkPolicyPeer{fromMirror}, Ports: ports(policy.SquidPort, corev1.ProtocolTCP),
			}},
			squidEgress(s.policy)),
	}
}

// squidEgress lets Squid reach port 443 outside the forbidden ranges, and the
// cluster's DNS. IPv6 is not let out at all.
func squidEgress(p *v1alpha1.ProxyPolicy) []networkingv1.NetworkPolicyEgressRule {
	internet := networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "0.0.0.0/0", Except: forbiddenIPv4(p)}}
	dns := networkingv1.NetworkPolicyPeer{
		NamespaceSelector: selector(map[string]string{namespaceNameLabel: dnsNamespace}),
		PodSelector:       selector(map[string]string{dnsAppLabel: dnsApp}),
	}
	return []networkingv1.NetworkPolicyEgressRule{
		{To: []networkingv1.NetworkPolicyPeer{internet}, Ports: ports(443, corev1.ProtocolTCP)},
		{To: []networkingv1.NetworkPolicyPeer{dns}, Ports: append(ports(53, corev1.ProtocolUDP), ports(53, corev1.ProtocolTCP)...)},
	}
}

// forbiddenIPv4 are the destinations forbidden to every policy and to this one.
func forbiddenIPv4(p *v1alpha1.ProxyPolicy) []string {
	var out []string
	for _, prefix := range policy.Forbidden(p.Spec) {
		if prefix.Addr().Is4() {
			out = append(out, prefix.Masked().String())
		}
	}
	return out
}

// networkPolicy confines the pod of one role to the given rules, in both directions.
func (r *Reconciler) networkPolicy(
	s *scope, role string, ingress []networkingv1.NetworkPolicyIngressRule, egress []networkingv1.NetworkPolicyEgressRule,
) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		ObjectMeta: r.meta(s, role, role),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: *selector(s.labels(role)),
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress:     ingress,
			Egress:      egress,
		},
	}
}

func selector(labels map[string]string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: labels}
}

func ports(number int32, protocol corev1.Protocol) []networkingv1.NetworkPolicyPort {
	return []networkingv1.NetworkPolicyPort{{Protocol: ptr.To(protocol), Port: ptr.To(intstr.FromInt32(number))}}
}
