// Package cluster tests the whole path on a real cluster: chart, operator, node
// agent, VMs, mirror, Squid and the real package registry. Its tests have the build
// tag cluster and use the cluster of the current kubeconfig.
package cluster
