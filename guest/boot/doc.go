// Package boot brings a VM from its kernel's first process to the point where
// commands can run: kernel filesystems, modules, identity, broker port, disks.
//
// It trusts the host, which made the disks and the boot strings, and reads nothing
// that repository code could have written but the file systems' own structures on
// the run disk.
package boot
