// Package netprobe proves that the cluster enforces NetworkPolicies, on which the
// isolation of every run's proxy rests: at the operator's start and again before the
// proof expires, pods in the run namespace try connections that policies admit and
// such that they deny, within a node and from node to node. A probe has a bounded
// number of nodes; all of a larger cluster have their turn.
//
// The proof is kept in memory. A new operator makes its own: what an earlier one saw
// may be of another network plugin. Nothing of a probe is left behind it.
package netprobe
