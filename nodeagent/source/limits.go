package source

import "time"

// Limits of a bundle and of each tree in it.
const (
	// MaxBundle bounds the bundle, in bytes. A ConfigMap holds 1 MiB.
	MaxBundle = 64 << 20
	// MaxFiles bounds the files of a tree.
	MaxFiles = 50_000
	// MaxTreeBytes bounds the content of a tree, MaxFileBytes that of one file.
	MaxTreeBytes = 1 << 30
	MaxFileBytes = 256 << 20
	// MaxPath, MaxName and MaxDepth bound a path, in bytes, bytes and segments.
	MaxPath  = 1024
	MaxName  = 255
	MaxDepth = 64
	// MaxRootEntries bounds the entries of a tree's root.
	MaxRootEntries = 5_000
)

// Limits of the child, which works on hostile bytes.
const (
	maxHeader  = 1 << 20 // of a bundle, in bytes
	maxRequest = 1 << 18
	maxTarget  = 4095 // of a symbolic link
	maxStderr  = 4 << 10

	// Of each process: address space, one file, open files, CPU time.
	limitMemory    = 2 << 30
	limitFileSize  = 2 << 30
	limitFiles     = 256
	limitProcesses = 512 // of the uid, whose VM may be running
	limitCPU       = 120 // seconds
	// limitAlloc bounds one allocation of git.
	limitAlloc = MaxFileBytes + 64<<20

	// Wall-clock bounds. Reading the largest bundle and writing the largest tree take
	// a few seconds each on two busy cores.
	defaultReadTime = 2 * time.Minute
	defaultDiskTime = 2 * time.Minute
)
