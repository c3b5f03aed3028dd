package image

import (
	"fmt"
	"os"
	"strconv"

	"github.com/ai-dossier/zt-operator/nodeagent/erofs"
)

// rootOptions of worker roots: all is root's. The identifier is fixed, as a random
// one would change the digest.
var rootOptions = erofs.Options{UUID: [16]byte{0x7a, 0x74, 6: 0x40, 8: 0x80, 15: 1}}

// pack writes the flattened image as an erofs image at path.
func (f *flat) pack(path string) error {
	nodes := map[*inode]*erofs.Node{}
	image, err := erofs.New(node(f.tree.root, nodes), rootOptions)
	if err != nil {
		return err
	}
	spool, err := os.OpenRoot(f.spool)
	if err != nil {
		return &nodeFault{err}
	}
	defer spool.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return &nodeFault{err}
	}
	defer out.Close()
	if err := image.WriteMetadata(out); err != nil {
		return &nodeFault{err}
	}
	contents := make(map[*erofs.Node]int, len(nodes))
	for from, to := range nodes {
		contents[to] = from.content
	}
	for _, n := range image.Files() {
		if err := copyIn(out, image, n, spool, contents[n]); err != nil {
			return &nodeFault{err}
		}
	}
	if err := out.Close(); err != nil {
		return &nodeFault{err}
	}
	return nil
}

func copyIn(out *os.File, image *erofs.Image, n *erofs.Node, spool *os.Root, content int) error {
	file, err := spool.Open(strconv.Itoa(content))
	if err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	defer file.Close()
	return image.WriteFile(out, n, file)
}

// node converts an inode and all below it. Inodes under several names stay one.
func node(from *inode, known map[*inode]*erofs.Node) *erofs.Node {
	if to, ok := known[from]; ok {
		return to
	}
	to := &erofs.Node{Mode: from.mode, Size: from.size, Target: from.target}
	known[from] = to
	if from.mode.IsDir() {
		to.Entries = make(map[string]*erofs.Node, len(from.entries))
		for name, child := range from.entries {
			to.Entries[name] = node(child.inode, known)
		}
	}
	return to
}
