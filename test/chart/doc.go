// Package chart holds the tests that keep the Helm chart true to the code: what the
// components may do, what the default policy admits, and what config/ has of it.
package chart
