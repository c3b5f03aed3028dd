// Package qemu runs VMs with QEMU: the command line, which is a pure function of
// a hypervisor.Config, and the launch shim, a re-execution of this binary that
// gives up everything QEMU does not need before it becomes QEMU.
//
// Only the node agent may call it, and only as root.
package qemu
