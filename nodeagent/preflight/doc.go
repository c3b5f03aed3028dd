// Package preflight finds out what this node can run before any run depends on it:
// its architecture, its tools, and whether KVM really boots our guest.
//
// The node agent calls it at its start and when it bakes a profile. Nothing of a
// repository is near: the smoke boot has no tree, no network and no pod.
package preflight
