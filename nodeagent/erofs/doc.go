// Package erofs writes uncompressed EROFS images: the read-only disks of worker
// roots and of trees.
//
// It writes an image straight from a tree that is held as data and from streams of
// content. No file of the tree ever exists on the node, so nothing there can be
// followed, executed or left behind; ten thousand files cost milliseconds instead of
// as many creations; and the bytes depend on the tree alone, not on the version of a
// tool, so that anyone can recompute a digest.
//
// The format is that of Linux's fs/erofs/erofs_fs.h: 4 KiB blocks, compact inodes,
// plain and inline data. Linux 5.4 and later mount it.
package erofs
