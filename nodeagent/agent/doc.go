// Package agent is the node's loop: it watches the runs that kube-scheduler bound
// to this node and the profiles this node bakes, starts and stops one session for
// each attempt, and publishes what the sessions record.
//
// It writes status.execution of the runs on its own node and its own entry of
// ZTProfiles' status.nodes, with server-side apply, and nothing else in the
// cluster. It is called by cmd/nodeagent only.
package agent
