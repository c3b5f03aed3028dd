// Package hypervisor is the small interface behind which a virtual machine
// monitor process lives: the engine starts, watches and kills one through it.
//
// It has a real implementation (qemu) and a scripted one (fake), so that every
// failure of a VM can be tested without one. The package itself does no I/O.
package hypervisor
