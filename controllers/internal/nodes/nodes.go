// Package nodes reads what the controllers need to know of a Node.
package nodes

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Ready reports whether the node's kubelet answers. A nil node is not ready.
func Ready(node *corev1.Node) bool {
	_, unready := UnreadySince(node)
	return !unready
}

// UnreadySince says since when the node's kubelet does not answer, and false if it
// does. A node that is gone, or never answered, is so since the beginning of time.
func UnreadySince(node *corev1.Node) (time.Time, bool) {
	if node == nil || !node.DeletionTimestamp.IsZero() {
		return time.Time{}, true
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.LastTransitionTime.Time, c.Status != corev1.ConditionTrue
		}
	}
	return time.Time{}, true
}

// Trim drops what no controller reads from a node on its way into the cache: its
// image list and managed fields are most of it.
func Trim(obj any) (any, error) {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	node.ManagedFields = nil
	node.Status = corev1.NodeStatus{Conditions: node.Status.Conditions}
	return node, nil
}
