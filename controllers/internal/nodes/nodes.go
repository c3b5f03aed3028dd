// Package nodes reads what the controllers need to know of a Node.
package nodes

import (
	corev1 "k8s.io/api/core/v1"
)

// Ready reports whether the node's kubelet answers. A nil node is not ready.
func Ready(node *corev1.Node) bool {
	if node == nil || !node.DeletionTimestamp.IsZero() {
		return false
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
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
