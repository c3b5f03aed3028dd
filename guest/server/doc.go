// Package server answers the host's requests over the broker, one at a time.
//
// It knows the protocol; containers and files are behind two small interfaces, of
// which it knows the errors alone. The host learns of an error by a slug from a fixed
// list; the text stays in the VM's kernel log.
package server
