package erofs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
)

const (
	superOffset = 1024
	superMagic  = 0xe0f5e1e2

	compatChecksum = 1 // feature: the superblock carries a CRC-32C

	layoutPlain  = 0 << 1 // of a compact inode: data in blocks
	layoutInline = 2 << 1 // the rest of the data behind the inode
)

// WriteMetadata sizes the file, which must be empty, and writes all but the
// content of regular files.
func (img *Image) WriteMetadata(file *os.File) error {
	if err := file.Truncate(img.Size()); err != nil {
		return fmt.Errorf("erofs: size the image: %w", err)
	}
	if _, err := file.WriteAt(img.super(), superOffset); err != nil {
		return fmt.Errorf("erofs: %w", err)
	}
	for _, n := range img.nodes {
		var err error
		switch n.Mode.Type() {
		case fs.ModeDir:
			err = img.write(file, n, bytes.NewReader(n.at.listing))
		case fs.ModeSymlink:
			err = img.write(file, n, bytes.NewReader([]byte(n.Target)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// WriteFile writes a regular file's inode and content, which must have exactly
// the node's size.
func (img *Image) WriteFile(file *os.File, n *Node, content io.Reader) error {
	if n.at == nil || !n.Mode.IsRegular() {
		return errors.New("erofs: no file of this image")
	}
	return img.write(file, n, content)
}

func (img *Image) write(file *os.File, n *Node, content io.Reader) error {
	if n.at.full > 0 {
		to := io.NewOffsetWriter(file, n.at.blocks*blockSize)
		if _, err := io.CopyN(to, content, n.at.full); err != nil {
			return fmt.Errorf("erofs: write content: %w", err)
		}
	}
	encoded := img.inode(n)
	tail := encoded[inodeSize:]
	if _, err := io.ReadFull(content, tail); err != nil {
		return fmt.Errorf("erofs: read content: %w", err)
	}
	if more, _ := content.Read(make([]byte, 1)); more != 0 {
		return errors.New("erofs: content goes on after its end")
	}
	if _, err := file.WriteAt(encoded, n.at.inode); err != nil {
		return fmt.Errorf("erofs: write an inode: %w", err)
	}
	return nil
}

// inode encodes a compact inode, with room for its inline data.
func (img *Image) inode(n *Node) []byte {
	at, layout := n.at, uint16(layoutPlain)
	if at.tail > 0 {
		layout = layoutInline
	}
	b := make([]byte, 0, inodeSize+at.tail)
	b = binary.LittleEndian.AppendUint16(b, layout)
	b = binary.LittleEndian.AppendUint16(b, 0) // no extended attributes
	b = binary.LittleEndian.AppendUint16(b, unixMode(n.Mode))
	b = binary.LittleEndian.AppendUint16(b, at.links)
	b = binary.LittleEndian.AppendUint32(b, uint32(at.size))
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(at.blocks))
	b = binary.LittleEndian.AppendUint32(b, at.number)
	b = binary.LittleEndian.AppendUint16(b, img.options.UID)
	b = binary.LittleEndian.AppendUint16(b, img.options.GID)
	b = binary.LittleEndian.AppendUint32(b, 0)
	return b[:inodeSize+at.tail]
}

// super encodes the superblock and the rest of its block. The build time, which
// every compact inode has as its own, is the epoch.
func (img *Image) super() []byte {
	b := make([]byte, blockSize-superOffset)
	binary.LittleEndian.PutUint32(b[0:], superMagic)
	binary.LittleEndian.PutUint32(b[8:], compatChecksum)
	b[12] = 12 // bits of a block
	binary.LittleEndian.PutUint16(b[14:], uint16(img.root.at.nid()))
	binary.LittleEndian.PutUint64(b[16:], uint64(len(img.nodes)))
	binary.LittleEndian.PutUint32(b[36:], uint32(img.blocks))
	copy(b[48:], img.options.UUID[:])
	// The kernel's CRC starts at all ones and is not inverted at its end.
	binary.LittleEndian.PutUint32(b[4:], ^crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	return b
}
