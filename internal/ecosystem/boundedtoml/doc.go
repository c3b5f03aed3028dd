// Package boundedtoml reads TOML of untrusted repositories within bounds that hold
// before the parser sees a byte: size, nesting, length of keys and number of values.
package boundedtoml
