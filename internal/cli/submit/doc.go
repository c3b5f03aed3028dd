// Package submit turns resolved commits and a git bundle into the objects of a
// run, and creates them so that a failure leaves nothing behind.
package submit
