// Package image is the node's content-addressed store of what VMs boot from: the
// guest's kernel and initial RAM disk, one read-only erofs root per runtime, and
// the sparse ext4 base of run disks.
//
// Bake makes them from a profile's digest-pinned images, byte for byte the same
// on every node with the same tools; Verify proves before the first VM that they
// are still what was baked. The node agent's engine and preflight call it.
//
// Image layers are treated as hostile archives: nothing of them is ever executed
// on the node, and no link of theirs is ever followed on the node.
package image
