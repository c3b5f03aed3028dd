// Package registries is the one place that knows the public package registries:
// their host names and the paths under which they serve package documents and
// artifacts.
//
// Detection, the proxy policy and the mirror configurations all read it, so that
// what a lockfile may name and what the proxy admits cannot drift apart. It holds
// data and lookups only and imports nothing but the API.
package registries
