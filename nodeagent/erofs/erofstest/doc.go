// Package erofstest shows tests what Linux makes of an EROFS image: it mounts it and
// lists what is there. For tests of what writes images, run as root.
package erofstest
