// Package follow watches one run until it is complete or paused and shows how it gets on:
// as one updated line on a terminal, as a line per change anywhere else.
//
// Status text comes from agents next to untrusted code; everything shown here has
// its control characters escaped.
package follow
