// Package builders makes objects of the API for tests, one line each. What a test
// does not name is valid and of no consequence to it.
package builders
