// Package npm knows npm: what a tree must look like to be run with it, and the
// commands that install, build and test it.
//
// Detection reads package.json, package-lock.json (version 2 or 3) and the version
// files of the root. It accepts only trees whose every package is a release of the
// public registry with its SHA-512 in the lockfile; the rest is refused by name.
package npm
