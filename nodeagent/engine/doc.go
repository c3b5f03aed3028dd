// Package engine drives one attempt of one run on this node: it turns a read
// source into a plan, executes each tree in a fresh VM, and records what it saw.
//
// It decides nothing: a refused command, a failed test or a lost VM ends up in the
// record, and the verdict package says whether more evidence is needed. The node's
// loop calls it; it knows nothing of Kubernetes clients. Everything it does to the
// host goes through the small interfaces of Attempt.
package engine
