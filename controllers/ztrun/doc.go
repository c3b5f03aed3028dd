// Package ztrun carries a ZTRun from admission to a torn-down verdict.
//
// controller.go is the flow: a slice of phases, each in its own file, over a scope
// that holds all that one pass has read. Phases say why they cannot go on with a
// typed error (errors.go); conditions are computed from the scope in status.go.
//
// The package never touches a node: what happens there comes from status.execution,
// which the node agent writes and this package only reads.
package ztrun
