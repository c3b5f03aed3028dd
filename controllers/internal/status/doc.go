// Package status writes the status of a reconciled object once per pass, only if it
// changed, and tells its events only after the write succeeded.
package status
