package image

import (
	"fmt"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// Error is a bake or check that failed for a reason of the catalogue.
type Error struct {
	// Detail is the catalogue's code.
	Detail v1alpha1.Detail
	// Message is for the profile's owner: what was found, what was expected, what to
	// do.
	Message string
	// Err is the cause, if there is one.
	Err error
}

// Error returns the message and the cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func refuse(detail v1alpha1.Detail, cause error, format string, args ...any) *Error {
	return &Error{Detail: detail, Message: fmt.Sprintf(format, args...), Err: cause}
}
