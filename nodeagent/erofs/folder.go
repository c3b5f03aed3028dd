package erofs

import "encoding/binary"

// A folder is blocks of entries of 12 bytes, each block followed by its names.
const entrySize = 12

// blocksOf cuts a folder's names into blocks.
func blocksOf(names []string) [][]string {
	var blocks [][]string
	start, used := 0, 0
	for i, name := range names {
		need := entrySize + len(name)
		if used+need > blockSize {
			blocks = append(blocks, names[start:i])
			start, used = i, 0
		}
		used += need
	}
	return append(blocks, names[start:])
}

// folderSize counts all blocks as full but the last.
func folderSize(names []string) int64 {
	blocks := blocksOf(names)
	size := int64(len(blocks)-1) * blockSize
	for _, name := range blocks[len(blocks)-1] {
		size += int64(entrySize + len(name))
	}
	return size
}

// list writes the entries of a folder and of all below it, now that every node
// has its place.
func (img *Image) list(folder, parent *Node) {
	out := make([]byte, 0, folder.at.size)
	for _, names := range blocksOf(order(folder)) {
		for len(out)%blockSize != 0 {
			out = append(out, 0)
		}
		nameAt := entrySize * len(names)
		for _, name := range names {
			node := folder.named(name, parent)
			_, kind := unixType(node.Mode)
			out = binary.LittleEndian.AppendUint64(out, node.at.nid())
			out = binary.LittleEndian.AppendUint16(out, uint16(nameAt))
			out = append(out, kind, 0)
			nameAt += len(name)
		}
		for _, name := range names {
			out = append(out, name...)
		}
	}
	folder.at.listing = out
	for _, child := range folder.Entries {
		if child.Mode.IsDir() {
			img.list(child, folder)
		}
	}
}

func (n *Node) named(name string, parent *Node) *Node {
	switch name {
	case ".":
		return n
	case "..":
		return parent
	default:
		return n.Entries[name]
	}
}
