// Package vm tests the guest in real QEMU VMs, over the broker and with the command
// line that the node agent uses. Its tests need the build tag vm, and the paths of
// a kernel, an initial RAM disk and a worker root filesystem in ZT_VM_KERNEL,
// ZT_VM_INITRD and ZT_VM_ROOT.
package vm
