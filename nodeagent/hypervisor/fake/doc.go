// Package fake is a Hypervisor without VMs: each start runs a scripted guest in
// this process, which speaks the broker protocol over the real socket.
//
// It exists for tests of what drives a VM: crashes, hangs, lies and slowness.
package fake
