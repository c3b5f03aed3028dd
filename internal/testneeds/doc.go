// Package testneeds says what a test needs of the machine it runs on, so that none
// passes by not running.
//
// What the project installs for its tests (hack/deps.sh, hack/tools.sh) or builds for
// them is there or the test fails. Only privilege is different: whoever is not root is
// told which tests were skipped. Tests alone may import it.
package testneeds
