package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ai-dossier/zt-operator/nodeagent/erofs"
)

// Owner of everything on a tree's disk: the worker's user in the VM. The
// identifier is fixed: the same tree is the same bytes.
var diskOptions = erofs.Options{UID: 1000, GID: 1000, UUID: [16]byte{0x7a, 0x74, 6: 0x40, 8: 0x80, 15: 4}}

// writeDisk writes a tree of the repository as an erofs image. It runs in the
// child. Symbolic links are kept, wherever they point: they are the repository's
// own and mean something only inside the VM; here they are never even files.
func writeDisk(tree string) error {
	if !objectID.MatchString(tree) {
		return errors.New("write a disk: no object id")
	}
	files, err := list(tree)
	if err != nil {
		return err
	}
	root, nodes := nodesOf(files)
	if err := readLinks(files, nodes); err != nil {
		return err
	}
	image, err := erofs.New(root, diskOptions)
	if err != nil {
		return err
	}
	// What an earlier, interrupted child left.
	path := filepath.Join(workInRoot, diskName)
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := writeImage(out, image, files, nodes); err != nil {
		return err
	}
	return out.Close()
}

// nodesOf makes the tree of nodes; the second result has those of the files, in
// their order.
func nodesOf(files []file) (*erofs.Node, []*erofs.Node) {
	newFolder := func() *erofs.Node {
		return &erofs.Node{Mode: fs.ModeDir | 0o755, Entries: map[string]*erofs.Node{}}
	}
	root := newFolder()
	nodes := make([]*erofs.Node, len(files))
	for i, f := range files {
		folder, rest := root, f.path
		for {
			segment, below, nested := strings.Cut(rest, "/")
			if !nested {
				break
			}
			if folder.Entries[segment] == nil {
				folder.Entries[segment] = newFolder()
			}
			folder, rest = folder.Entries[segment], below
		}
		nodes[i] = f.node()
		folder.Entries[rest] = nodes[i]
	}
	return root, nodes
}

func (f file) node() *erofs.Node {
	switch {
	case f.link:
		return &erofs.Node{Mode: fs.ModeSymlink | 0o777}
	case f.executable:
		return &erofs.Node{Mode: 0o755, Size: f.size}
	default:
		return &erofs.Node{Mode: 0o644, Size: f.size}
	}
}

// readLinks fills in the targets of symbolic links.
func readLinks(files []file, nodes []*erofs.Node) error {
	var links []file
	var at []*erofs.Node
	for i, f := range files {
		if f.link {
			links, at = append(links, f), append(at, nodes[i])
		}
	}
	i := 0
	return eachBlob(links, func(f file, content io.Reader) error {
		target, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		if strings.ContainsRune(string(target), 0) {
			return unsupported(f.path, "it has a symbolic link with an impossible target")
		}
		at[i].Target = string(target)
		i++
		return nil
	})
}

// writeImage streams the files in the image's order, so that it is written from
// its start to its end.
func writeImage(out *os.File, image *erofs.Image, files []file, nodes []*erofs.Node) error {
	if err := image.WriteMetadata(out); err != nil {
		return err
	}
	fileOf := make(map[*erofs.Node]file, len(files))
	for i, n := range nodes {
		fileOf[n] = files[i]
	}
	order := image.Files()
	ordered := make([]file, len(order))
	for i, n := range order {
		ordered[i] = fileOf[n]
	}
	i := 0
	err := eachBlob(ordered, func(_ file, content io.Reader) error {
		n := order[i]
		i++
		return image.WriteFile(out, n, content)
	})
	if err != nil {
		return fmt.Errorf("write a disk: %w", err)
	}
	return nil
}
