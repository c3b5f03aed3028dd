// Package netprobe proves that the cluster enforces NetworkPolicies, on which the
// isolation of every run's proxy rests: at the operator's start and again before the
// proof expires, two pods in the run namespace try a connection that policies admit
// and two that they deny.
//
// The proof is kept in memory. A new operator makes its own: what an earlier one saw
// may be of another network plugin. Nothing of a probe is left behind it.
package netprobe
