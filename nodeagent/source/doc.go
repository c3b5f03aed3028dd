// Package source turns the bytes of a git bundle into the verified trees of a
// proof, and a tree into the read-only disk that a VM mounts.
//
// The node agent never parses those bytes itself. A child process does: the same
// binary, re-executed with a uid of its own, in empty namespaces, with nothing but
// /usr and its own private folder in sight, driving real git. Nothing is ever
// checked out, no hook, filter, attribute or submodule is ever honoured. The agent
// reads the child's answer as it would a stranger's.
package source
