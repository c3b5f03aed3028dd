// Package cli is the kubectl plug-in kubectl-zt: it submits a proof from a local
// git repository, follows it and prints the verdict.
package cli
