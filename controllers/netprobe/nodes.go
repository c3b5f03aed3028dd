package netprobe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// maxNodes bounds the pods of one probe: two on each of its nodes. Probe by probe, all
// nodes of a larger cluster have their turn.
const maxNodes = 4

// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch

// pick names the nodes of the next probe: some of those that can run a pod of a run, in
// a stable order, going on where the last probe ended.
func (p *Prober) pick(ctx context.Context) ([]string, error) {
	list := &corev1.NodeList{}
	if err := p.Client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list the nodes: %w", err)
	}
	var names []string
	for i := range list.Items {
		if takesPods(&list.Items[i]) {
			names = append(names, list.Items[i].Name)
		}
	}
	if len(names) == 0 {
		return nil, errors.New("no node is ready for pods of runs")
	}
	slices.Sort(names)
	// Where the last probe ended, or the first name after it if that node is gone.
	start := 0
	for start < len(names) && names[start] <= p.last {
		start++
	}
	names = append(names[start:], names[:start]...)
	names = names[:min(len(names), maxNodes)]
	p.last = names[len(names)-1]
	return names, nil
}

// takesPods is true for a node on which a pod without any toleration can start.
func takesPods(node *corev1.Node) bool {
	ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	kept := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule })
	for label, value := range machine {
		if node.Labels[label] != value {
			return false
		}
	}
	return ready && !kept && !node.Spec.Unschedulable && node.DeletionTimestamp == nil
}

// onNode lets the scheduler place a pod on one node only.
func onNode(node string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
		}}},
	}}
}

// end is one server of a probe.
type end struct{ node, address string }

// targets are what the client beside the i-th server dials, each as NODE=ADDRESS: that
// server, and the next one on another node. So each node is both ends of a pair within
// it, and each end of one that leaves it.
func targets(servers []end, i int) []string {
	dialed := []string{servers[i].node + "=" + servers[i].address}
	if next := servers[(i+1)%len(servers)]; next != servers[i] {
		dialed = append(dialed, next.node+"="+next.address)
	}
	return dialed
}

func nodesOf(servers []end) string {
	names := make([]string, 0, len(servers))
	for _, s := range servers {
		names = append(names, s.node)
	}
	return strings.Join(names, ", ")
}
