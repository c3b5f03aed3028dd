// Package podtest makes what the kubelet and a container runtime leave of a pod on
// a node: cgroups, and a holder process in a network namespace of its own. It is
// for tests that run as root, and removes everything with the test.
package podtest
