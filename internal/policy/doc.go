// Package policy turns a ProxyPolicy into its two enforcers, the Squid
// configuration and the Go evaluator, and reads Squid's access log back.
//
// One set of facts drives both: the pattern text of a host is compiled here by
// Go, in the syntax that RE2 and POSIX extended expressions share, and written
// unchanged into the configuration. What a policy does not admit is denied, and
// no policy reaches beyond the ceiling in ceiling.go.
//
// The package is pure: it reads from readers it is given and writes strings. It
// opens no file, no socket and no Kubernetes client.
package policy
