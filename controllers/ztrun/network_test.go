package ztrun

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/controllers/netprobe"
)

// network is a probe with a result of the test's.
type network struct{ state netprobe.State }

func (n *network) State() netprobe.State { return n.state }

var enforced = netprobe.State{Enforced: true}

func TestARunWaitsForTheProbeInBoundedTime(t *testing.T) {
	w, _ := readyWorld(t)
	probe := &network{netprobe.State{Message: "the image cannot be pulled"}}
	w.r.Network = probe
	if again := w.settle().RequeueAfter; again == 0 || again > settle {
		t.Errorf("looks again after %s", again)
	}
	w.wantCondition(v1alpha1.ConditionAdmitted, metav1.ConditionFalse, v1alpha1.DetailWaitingForNetworkProbe, "cannot be pulled")
	if got := w.objects(); len(got) > 0 {
		t.Errorf("created %v before the proof", got)
	}
	w.advance(networkProbeBound - 1)
	w.settle()
	if o := w.run().Status.Outcome; o != nil {
		t.Fatalf("ended early: %+v", o)
	}
	w.advance(1)
	w.pass()
	w.wantOutcome(v1alpha1.ResultNotAdmitted, v1alpha1.DetailNetworkPolicyNotEnforced, "cannot be pulled")
	w.wantComplete()
}

func TestARunGoesOnOnceEnforcementIsProven(t *testing.T) {
	w, _ := readyWorld(t)
	probe := &network{}
	w.r.Network = probe
	w.settle()
	probe.state = enforced
	w.settle()
	w.wantCondition(v1alpha1.ConditionAdmitted, metav1.ConditionTrue, v1alpha1.DetailAdmitted, "")
}

func TestAClusterWithoutEnforcementRefusesRuns(t *testing.T) {
	w, _ := readyWorld(t)
	w.r.Network = &network{netprobe.State{Refuted: true, Message: "NetworkPolicies are not enforced: egress answered"}}
	w.settle()
	w.wantOutcome(v1alpha1.ResultNotAdmitted, v1alpha1.DetailNetworkPolicyNotEnforced, "egress answered")
	w.wantCondition(v1alpha1.ConditionAdmitted, metav1.ConditionFalse, v1alpha1.DetailNetworkPolicyNotEnforced, "")
}

func TestNobodyToAskIsNoProof(t *testing.T) {
	w, _ := readyWorld(t)
	w.r.Network = nil
	w.settle()
	w.wantCondition(v1alpha1.ConditionAdmitted, metav1.ConditionFalse, v1alpha1.DetailWaitingForNetworkProbe, "")
}

func TestAPlacedRunIsNotAskedAgain(t *testing.T) {
	w, _ := readyWorld(t)
	w.toPlaced()
	w.r.Network = &network{netprobe.State{Refuted: true}}
	w.settle()
	if o := w.run().Status.Outcome; o != nil {
		t.Errorf("a placed run was refused: %+v", o)
	}
}
