// Package refusal is the error by which pure code says that a repository cannot
// be run: a catalogue code, what it is about, and a sentence for people.
//
// Subjects come from untrusted repositories, so they pass through Subject, which
// keeps a narrow alphabet and drops everything else rather than echo it.
package refusal
