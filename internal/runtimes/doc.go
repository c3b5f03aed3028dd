// Package runtimes selects the worker runtime of a run: the newest one of the
// profile that satisfies every declaration of the repository.
//
// It is pure. A version is never substituted: what no runtime satisfies is
// refused, and so is a repository that declares nothing.
package runtimes
