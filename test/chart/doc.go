// Package chart holds the tests that keep the Helm chart true to the code: what the
// components may do and what the default policy admits.
package chart
