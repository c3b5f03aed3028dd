// Package preflight finds out what this node can run before any run depends on it:
// its architecture, its tools, and whether KVM really boots our guest.
package preflight
