package ztprofile

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/controllers/netprobe"
	"github.com/ai-dossier/zt-operator/test/builders"
)

type network struct{ state netprobe.State }

func (n *network) State() netprobe.State { return n.state }

func TestAProfileShowsWhetherTheNetworkIsConfined(t *testing.T) {
	w := newWorld(t, builders.Profile("default").Object(), builders.Node("node-1", true))
	probe := &network{}
	w.r.Network = probe
	for _, tc := range []struct {
		state  netprobe.State
		status metav1.ConditionStatus
		detail v1alpha1.Detail
	}{
		{netprobe.State{Message: "not yet"}, metav1.ConditionUnknown, v1alpha1.DetailWaitingForNetworkProbe},
		{netprobe.State{Enforced: true, Message: "seen"}, metav1.ConditionTrue, v1alpha1.DetailNetworkPolicyEnforced},
		{netprobe.State{Refuted: true, Message: "answered"}, metav1.ConditionFalse, v1alpha1.DetailNetworkPolicyNotEnforced},
	} {
		probe.state = tc.state
		if _, err := w.r.Reconcile(context.Background(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "default"}}); err != nil {
			t.Fatal(err)
		}
		profile := &v1alpha1.ZTProfile{}
		if err := w.client.Get(context.Background(), types.NamespacedName{Name: "default"}, profile); err != nil {
			t.Fatal(err)
		}
		c := meta.FindStatusCondition(profile.Status.Conditions, v1alpha1.ConditionNetworkPolicyEnforced)
		if c == nil || c.Status != tc.status || c.Reason != tc.detail.Reason() || c.Message != tc.state.Message {
			t.Errorf("%+v: the condition is %+v", tc.state, c)
		}
	}
}
