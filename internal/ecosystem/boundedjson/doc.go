// Package boundedjson reads JSON of untrusted repositories: bounded in bytes,
// depth and values, and without the two things on which parsers disagree, repeated
// keys and bytes after the value.
package boundedjson
