// Package relay joins a worker's connections to the package mirror with the host's
// connections to the guest, in phase provisioning only.
//
// The guest can open no connection: QEMU lets in one forward and lets out nothing.
// So for each connection that a worker opens, the relay asks the host over the
// broker to dial in, and splices the two. It never looks at the bytes.
package relay
