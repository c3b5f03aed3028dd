// Package report prints a completed run's verdict and the evidence for it.
package report
