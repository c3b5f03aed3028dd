// Package brokerproto is zt-broker-v1, the protocol between the node agent and
// the guest agent of one VM: JSON objects, one a line, over a virtio-serial port.
//
// The guest speaks first, with a hello; the host answers with a welcome; then the
// host sends one request at a time and the guest answers it. In phase
// provisioning the guest may send dial events between its answers.
//
// The package holds messages, limits and their validation. It does no I/O but on
// the reader and writer it is given, and both sides use it: the host trusts
// nothing the guest sends.
package brokerproto
