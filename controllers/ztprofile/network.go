package ztprofile

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/controllers/internal/status"
	"github.com/ai-dossier/zt-operator/controllers/netprobe"
)

// Network knows whether the cluster enforces NetworkPolicies.
type Network interface {
	State() netprobe.State
}

// showNetwork writes the probe's result into the profile's conditions.
func (r *Reconciler) showNetwork(p *v1alpha1.ZTProfile) {
	if r.Network == nil {
		return
	}
	p.Status.Conditions = status.Set(p.Status.Conditions, p.Generation, r.Clock.Now(), []status.Condition{enforcement(r.Network.State())})
}

func enforcement(s netprobe.State) status.Condition {
	c := status.Condition{
		Type: v1alpha1.ConditionNetworkPolicyEnforced, Status: metav1.ConditionUnknown,
		Detail: v1alpha1.DetailWaitingForNetworkProbe, Message: s.Message,
	}
	switch {
	case s.Enforced:
		c.Status, c.Detail = metav1.ConditionTrue, v1alpha1.DetailNetworkPolicyEnforced
	case s.Refuted:
		c.Status, c.Detail = metav1.ConditionFalse, v1alpha1.DetailNetworkPolicyNotEnforced
	}
	return c
}
