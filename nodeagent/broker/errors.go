package broker

import (
	"errors"
	"fmt"
)

// Errors that end a connection without blame for the guest.
var (
	// ErrLost: the stream ended or failed, as when the VM process dies.
	ErrLost = errors.New("broker connection lost")
	// ErrClosed: the host closed the connection, or gave up a request that the
	// guest may still be working on.
	ErrClosed = errors.New("broker connection closed")
)

// RequestError is a request that the host refused. The guest never saw it and the
// connection stays usable.
type RequestError struct {
	// Reason says which rule it broke; it never holds the value that broke it.
	Reason error
}

func (e *RequestError) Error() string { return fmt.Sprintf("request refused: %v", e.Reason) }

// Unwrap returns the rule it broke, often a *brokerproto.Error.
func (e *RequestError) Unwrap() error { return e.Reason }

// GuestError is an operation that the guest answered with an error. The
// connection stays usable.
type GuestError struct {
	// Slug is the guest's word: lower-case letters, digits and underscores.
	Slug string
}

func (e *GuestError) Error() string { return "guest answered " + e.Slug }

// TaintError is a violation of the protocol by the guest. The VM can only be
// destroyed: every later call returns the first TaintError.
type TaintError struct {
	// Reason says what was violated. It holds no text of the guest.
	Reason error
}

func (e *TaintError) Error() string { return fmt.Sprintf("guest broke the protocol: %v", e.Reason) }

// Unwrap returns what was violated, often a *brokerproto.Error.
func (e *TaintError) Unwrap() error { return e.Reason }

// PathTooLongError is a socket path that a unix socket cannot take.
type PathTooLongError struct {
	// Length of the path and Max, in bytes.
	Length, Max int
}

func (e *PathTooLongError) Error() string {
	return fmt.Sprintf("socket path is %d bytes: a unix socket takes at most %d; use a shorter state folder", e.Length, e.Max)
}
