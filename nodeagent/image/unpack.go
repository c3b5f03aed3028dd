package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"

	"github.com/ai-dossier/zt-operator/internal/safetext"
)

// unpacker reads layers into a tree and spools the bytes of their files, numbered,
// into a flat folder: no name of a layer reaches the node's file system here.
type unpacker struct {
	tree   *layerTree
	spool  *os.Root
	limits limits

	files   int
	entries int
	names   int
	bytes   int64
}

func newUnpacker(spool *os.Root, l limits) *unpacker {
	return &unpacker{tree: newLayerTree(), spool: spool, limits: l}
}

// layer reads one layer's tar stream, whose compressed size is given.
func (u *unpacker) layer(stream io.Reader, compressed int64) error {
	u.tree.layer++
	bounded := &boundedReader{r: stream, left: min(
		u.limits.unpacked-u.bytes,
		compressed*u.limits.ratio+u.limits.slack,
	)}
	defer func() { u.bytes += bounded.read }()
	archive := tar.NewReader(bounded)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			_, err := io.Copy(io.Discard, bounded) // padding, and what hides behind the end
			return err
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return fmt.Errorf("read the archive: %w", err)
		}
		if u.entries++; u.entries > u.limits.entries {
			return fmt.Errorf("more than %d entries", u.limits.entries)
		}
		if u.names += len(header.Name) + len(header.Linkname); u.names > u.limits.names {
			return fmt.Errorf("more than %d bytes of names", u.limits.names)
		}
		if err := u.entry(header, archive); err != nil {
			return fmt.Errorf("entry %s: %w", safetext.Line(strconv.Quote(header.Name), 128), err)
		}
	}
}

func (u *unpacker) entry(header *tar.Header, content io.Reader) error {
	if header.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	segments, err := split(header.Name)
	if err != nil {
		return err
	}
	if done, err := u.tree.whiteout(segments); done || err != nil {
		return err
	}
	// Set-user-ID and set-group-ID bits, owners, extended attributes and file
	// capabilities all end here: nothing below keeps a place for them.
	perm := fs.FileMode(header.Mode) & 0o777
	switch header.Typeflag {
	case tar.TypeDir:
		if header.Mode&0o1000 != 0 {
			perm |= fs.ModeSticky
		}
		return u.tree.add(segments, newFolder(perm))
	case tar.TypeReg, tar.TypeRegA, tar.TypeGNUSparse: //nolint:staticcheck // old archives have RegA
		return u.file(segments, perm, header.Size, content)
	case tar.TypeSymlink:
		if header.Linkname == "" || len(header.Linkname) >= maxPath {
			return errors.New("symbolic link without a usable target")
		}
		return u.tree.add(segments, &inode{mode: fs.ModeSymlink | 0o777, target: header.Linkname})
	case tar.TypeLink:
		return u.tree.link(segments, header.Linkname)
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		u.tree.remove(segments)
		return nil
	default:
		return fmt.Errorf("unknown type %q", header.Typeflag)
	}
}

func (u *unpacker) file(segments []string, perm fs.FileMode, size int64, content io.Reader) error {
	u.files++
	node := &inode{mode: perm, content: u.files, size: size}
	// First the tree: what it refuses is not worth writing.
	if err := u.tree.add(segments, node); err != nil {
		return err
	}
	// A sparse entry is long without being long in the archive.
	if size > u.limits.unpacked-u.bytes {
		return fmt.Errorf("a file of %d bytes is over the image's limit", size)
	}
	out, err := u.spool.OpenFile(strconv.Itoa(node.content), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return &nodeFault{err}
	}
	n, err := io.Copy(out, content)
	if closing := out.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	if n != size {
		return fmt.Errorf("%d bytes of content, %d announced", n, size)
	}
	return nil
}

// nodeFault marks an error that is the node's and not the image's.
type nodeFault struct{ err error }

func (f *nodeFault) Error() string { return f.err.Error() }
func (f *nodeFault) Unwrap() error { return f.err }

// boundedReader fails, instead of ending, once more bytes come than it may pass.
type boundedReader struct {
	r          io.Reader
	left, read int64
}

var errTooLarge = errors.New("unpacks to more than its limit allows; a decompression bomb?")

func (b *boundedReader) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	b.read += int64(n)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
