package ztrun

import (
	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/controllers/netprobe"
)

// Network knows whether the cluster enforces NetworkPolicies.
type Network interface {
	State() netprobe.State
}

// checkNetwork admits a run only where enforcement was seen: without it a mirror would
// reach whatever it likes. Nobody to ask is no proof.
func (r *Reconciler) checkNetwork(s *scope) error {
	state := netprobe.State{Message: "no probe is made"}
	if r.Network != nil {
		state = r.Network.State()
	}
	left := admissionStart(s).Add(networkProbeBound).Sub(s.now)
	switch {
	case state.Enforced:
		return nil
	case state.Refuted:
		return refuse(v1alpha1.ResultNotAdmitted, v1alpha1.DetailNetworkPolicyNotEnforced, "",
			"%s; install a network plugin that enforces them", state.Message)
	case left <= 0:
		return refuse(v1alpha1.ResultNotAdmitted, v1alpha1.DetailNetworkPolicyNotEnforced, "",
			"it was not proven within %s that the cluster enforces NetworkPolicies: %s", networkProbeBound, state.Message)
	}
	return hold(v1alpha1.ConditionAdmitted, v1alpha1.DetailWaitingForNetworkProbe, min(left, settle), "%s", state.Message)
}
