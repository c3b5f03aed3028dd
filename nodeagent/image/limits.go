package image

// limits bound what one image may make the node read and store.
type limits struct {
	// compressed bounds all layers of an image as pulled, in bytes.
	compressed int64
	// unpacked bounds all layers of an image after decompression, in bytes.
	unpacked int64
	// ratio of unpacked to compressed bytes of a layer, beyond slack bytes.
	ratio, slack int64
	// layers and entries of an image, and bytes of all names and link targets:
	// these are kept in memory.
	layers, entries, names int
}

// Worker images with interpreter and compilers measure 0.2–1.5 GB in 5,000–40,000
// entries and compress 2–4 times; an archive beyond these bounds is not one.
var defaultLimits = limits{
	compressed: 4 << 30,
	unpacked:   12 << 30,
	ratio:      100,
	slack:      64 << 20,
	layers:     128,
	entries:    500_000,
	names:      64 << 20,
}

const (
	maxPath    = 4096
	maxSegment = 255
	maxDepth   = 128
)
