// Package protect says which files and fields of a repository judge a candidate,
// so that the candidate may not change them: tests, the test runner's
// configuration, and what the test command runs.
//
// It is pure and knows every supported runner by the names of its files. It errs
// on the side of naming too much: a fix that has to change a test is one that a
// person has to look at.
package protect
