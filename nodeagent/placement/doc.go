// Package placement finds a pod on this node and makes room for a VM process in
// it: a child of the pod's cgroup, and the pod's network namespace.
//
// It reads /proc and the cgroup file systems of the node, so the agent must share
// the node's PID namespace; it asks no container runtime.
package placement
