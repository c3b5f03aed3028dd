// Package cli is the kubectl plug-in kubectl-zt: it submits a proof from a local
// git repository, follows it, prints the verdict or why the run is paused, and resumes
// it.
package cli
