// Package shim is the first process of the worker container: the agent's own
// binary under another name. It starts the command, reaps the command's orphans,
// and tells the agent how the command ended.
//
// Without it the command itself would be the first process of its PID namespace,
// where the kernel drops signals that a process does not handle, abort included.
// It runs as the worker and holds nothing that the worker may not have; a worker
// that tampers with it can forge its own exit status, which it can choose anyway.
package shim
