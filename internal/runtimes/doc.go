// Package runtimes selects the worker runtime of a run: the newest one of the
// profile that satisfies every declaration of the repository.
//
// What was selected is recorded once a run (Record) and every later attempt is held to
// it (Same, InProfile).
//
// It is pure. A version is never substituted: what no runtime satisfies is
// refused, and so is a repository that declares nothing.
package runtimes
