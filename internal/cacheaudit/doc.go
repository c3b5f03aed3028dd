// Package cacheaudit lists what a package mirror has cached, with digests taken from
// the bytes beside the mirror, and reads such a list back on the other side.
//
// Listing runs in the mirror's pod, over a read-only view of its storage. Reading
// runs in the node agent, to which the list is hostile: the mirror handles whatever
// registries send, and may be somebody else's by then. The package judges nothing;
// the digests to expect are in package lockindex.
package cacheaudit
