// Package netprobe is the traffic of the probe that proves that a cluster enforces
// NetworkPolicies: a server pod listens on three ports, a client pod dials them, and
// two policies admit one of the three. The open port shows that the two can talk at
// all, so that a refused connection is not just a broken one.
//
// The pods run it from the holder image; the operator makes the pods and the policies
// and reads the client's exit status.
package netprobe
