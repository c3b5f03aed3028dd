// Package gitbundle reads a local repository with the git binary and packs
// commits, each with its full history, into one git bundle.
//
// It may read the repository and must never write to it.
package gitbundle
