// Package safepath is the only way to host paths that something untrusted could
// influence: every component below a trusted base is resolved without following
// links, in one system call.
package safepath
