// Package worker runs one command at a time in the hardened container: the only
// place where repository code executes.
//
// The container is crun's, from a configuration written here: its own namespaces,
// uid 1000, no capabilities, no new privileges, a seccomp allowlist, a read-only
// root and three writable folders. Everything that comes back from it is bounded.
package worker
