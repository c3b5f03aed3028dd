// Package broker is the host's side of zt-broker-v1: it accepts the one
// connection QEMU makes for a VM, checks who answers, and carries one request at
// a time.
//
// The guest is hostile. Whatever breaks the protocol taints the connection for
// good; a request the host itself refuses never reaches the guest.
package broker
