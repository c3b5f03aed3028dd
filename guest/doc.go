// Package guest is the parent of everything that runs inside a VM and nowhere
// else. It imports internal/ only: it knows nothing of Kubernetes or of the host.
package guest
