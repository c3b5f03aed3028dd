// Package lifecycle says what follows from a verdict in a session: a line of work on
// one bug, in which candidates are made and verified one after the other.
//
// It is pure. The count of repairs comes from the session's history of events alone, so
// that no restart, retry or second observer changes it. The history itself is what
// Replay reads from the session's ZTRuns; the operator has no part in it, since who
// plans and repairs is not its business.
package lifecycle
