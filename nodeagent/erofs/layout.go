package erofs

import (
	"errors"
	"io/fs"
	"maps"
	"math"
	"slices"
)

// Options are what all inodes of an image share.
type Options struct {
	// UID and GID own every inode; compact inodes have 16 bits for each.
	UID, GID uint16
	// UUID of the file system; a constant, or the same tree is not the same bytes.
	UUID [16]byte
}

// Image is a laid out image. Write it with WriteMetadata and, for each of Files,
// WriteFile.
type Image struct {
	options Options
	root    *Node
	// nodes in order of layout, each once.
	nodes  []*Node
	blocks int64
}

// New lays out a tree. The nodes belong to the image from then on. A tree that the
// format cannot hold is an error: names, targets and sizes out of bounds, and types
// other than file, folder and symbolic link.
func New(root *Node, options Options) (*Image, error) {
	if !root.Mode.IsDir() {
		return nil, errors.New("erofs: the root is not a folder")
	}
	img := &Image{options: options, root: root}
	if err := img.visit(root); err != nil {
		return nil, err
	}
	img.placeInodes()
	img.list(root, root)
	if img.blocks > math.MaxUint32 {
		return nil, errors.New("erofs: the image has too many blocks")
	}
	return img, nil
}

// Files returns the regular files in the order in which writing them is
// sequential, each once however many names it has.
func (img *Image) Files() []*Node {
	var files []*Node
	for _, n := range img.nodes {
		if n.Mode.IsRegular() {
			files = append(files, n)
		}
	}
	return files
}

// Size of the image in bytes.
func (img *Image) Size() int64 { return img.blocks * blockSize }

// visit numbers nodes and counts their links.
func (img *Image) visit(n *Node) error {
	if n.at != nil {
		if n.Mode.IsDir() {
			return errors.New("erofs: a folder has two names")
		}
		if n.at.links == math.MaxUint16 {
			return errors.New("erofs: a file has too many names")
		}
		n.at.links++
		return nil
	}
	img.nodes = append(img.nodes, n)
	n.at = &place{number: uint32(len(img.nodes)), links: 1, size: sizeOf(n)}
	if !n.Mode.IsDir() {
		return nil
	}
	n.at.links = 2
	for _, name := range slices.Sorted(maps.Keys(n.Entries)) {
		child := n.Entries[name]
		if err := check(name, child); err != nil {
			return err
		}
		if child.Mode.IsDir() && n.at.links < math.MaxUint16 {
			n.at.links++
		}
		if err := img.visit(child); err != nil {
			return err
		}
	}
	return nil
}

func sizeOf(n *Node) int64 {
	switch n.Mode.Type() {
	case fs.ModeDir:
		return folderSize(order(n))
	case fs.ModeSymlink:
		return int64(len(n.Target))
	default:
		return n.Size
	}
}

// placeInodes gives every node its place: inodes first, each with the end of its
// data behind it if both fit into one block, then all full blocks. Sizes are all
// it needs, so content can follow later, in one pass.
func (img *Image) placeInodes() {
	cursor := int64(blockSize) // after the superblock's block: inode number 0 stays free
	for _, n := range img.nodes {
		at := n.at
		at.tail = at.size % blockSize
		if at.tail > blockSize-inodeSize {
			at.tail = 0
		}
		if room := blockSize - cursor%blockSize; inodeSize+at.tail > room {
			cursor += room
		}
		at.inode = cursor
		cursor += inodeSize + at.tail
		cursor = roundUp(cursor, inodeSize)
	}
	next := roundUp(cursor, blockSize) / blockSize
	for _, n := range img.nodes {
		n.at.full = n.at.size - n.at.tail
		if n.at.full > 0 {
			n.at.blocks = next
			next += roundUp(n.at.full, blockSize) / blockSize
		}
	}
	img.blocks = next
}

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }
