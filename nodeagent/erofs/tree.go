package erofs

import (
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
)

// Node is a file, folder or symbolic link. One node under several names is one
// file with hard links.
type Node struct {
	// Mode is type and permissions; of special bits only the sticky bit counts.
	Mode fs.FileMode
	// Size of a regular file, at most 4 GiB - 1.
	Size int64
	// Target of a symbolic link, 1 to 4095 bytes.
	Target string
	// Entries of a folder.
	Entries map[string]*Node

	at *place
}

// place is where a node is in the image, and what its inode says.
type place struct {
	number  uint32 // inode number, from 1
	links   uint16
	size    int64
	inode   int64 // offset in bytes
	blocks  int64 // first block of what is not inline
	full    int64 // bytes in blocks
	tail    int64 // bytes after the inode
	listing []byte
}

func (p *place) nid() uint64 { return uint64(p.inode / inodeSize) }

const (
	blockSize = 4096
	inodeSize = 32
	maxName   = 255
)

// order returns a folder's names as the kernel searches them: by bytes, with the
// two dots among them.
func order(folder *Node) []string {
	names := append(slices.Collect(maps.Keys(folder.Entries)), ".", "..")
	slices.Sort(names)
	return names
}

// check admits what the format can say.
func check(name string, n *Node) error {
	if name == "" || name == "." || name == ".." || len(name) > maxName || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("erofs: %q is no name", name)
	}
	switch n.Mode.Type() {
	case 0:
		if n.Size < 0 || n.Size > math.MaxUint32 {
			return fmt.Errorf("erofs: %q has %d bytes; at most 4 GiB - 1 can be stored", name, n.Size)
		}
	case fs.ModeSymlink:
		if n.Target == "" || len(n.Target) >= blockSize || strings.ContainsRune(n.Target, 0) {
			return fmt.Errorf("erofs: %q is a symbolic link without a usable target", name)
		}
	case fs.ModeDir:
	default:
		return fmt.Errorf("erofs: %q is neither file nor folder nor symbolic link", name)
	}
	return nil
}

// Linux's numbers for types.
func unixType(mode fs.FileMode) (modeBits uint16, entryType byte) {
	switch mode.Type() {
	case fs.ModeDir:
		return 0o040000, 2
	case fs.ModeSymlink:
		return 0o120000, 7
	default:
		return 0o100000, 1
	}
}

func unixMode(mode fs.FileMode) uint16 {
	bits, _ := unixType(mode)
	bits |= uint16(mode.Perm())
	if mode&fs.ModeSticky != 0 {
		bits |= 0o1000
	}
	return bits
}
