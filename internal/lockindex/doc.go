// Package lockindex holds the digests that a tree's lockfile expects, and judges
// artifacts by them: the ones a mirror served, whatever the package manager says.
//
// It is pure. Digests come from the lockfile only, never from a registry. Every
// entry is validated again here, so that the audit does not rest on detection alone.
package lockindex
