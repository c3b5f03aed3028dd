// Package proxypolicy says in a ProxyPolicy's status whether it compiles and stays
// below the ceiling. Runs do not rely on that answer: they validate again.
package proxypolicy
