// Package report is what the benchmarks write: one JSON document for each of them,
// with the machine and the load it was measured under. docs/benchmarks.md says what
// each field means; hack/bench/table prints them for people.
package report
