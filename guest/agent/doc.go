// Package agent is PID 1 of a VM: it boots it, greets the host, and answers the
// host's requests until the VM is powered off.
//
// It joins the other packages of guest and holds no rule of its own. Whatever fails,
// it says so in the kernel log and powers the VM off.
package agent
