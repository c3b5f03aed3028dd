// Package proof holds what was seen in a proof of an acceptance criterion against what
// must be seen, fact by fact, and writes both down. Only tests use it.
package proof
