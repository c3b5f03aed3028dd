// Package ecotest is what the tests of detection and plans share: roots of trees made
// of text, the question whether something was refused, and the real package managers
// of this machine as judges of what ours decide.
package ecotest
