// Package channel is the connector of a provisioning VM: on the guest's demand it
// dials the guest's one forward and the run's one mirror, and splices the two.
//
// It parses nothing and has no other destination. Both dialers are given to it.
package channel
