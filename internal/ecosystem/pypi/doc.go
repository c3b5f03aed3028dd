// Package pypi has the words that Python's package managers share: project names,
// versions, file names, environment markers and wheel tags.
//
// It knows the narrow, exact part of the standards that lockfiles use. What is
// outside of it is an error, never a guess: pip and uv would guess differently.
package pypi
