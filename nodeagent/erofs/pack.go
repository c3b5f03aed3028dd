package erofs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Pack writes an image of files that are in memory, by slash-separated paths, to
// path, which must not exist. Every file is 0644, every folder 0755.
func Pack(path string, files map[string]string, options Options) (err error) {
	root := emptyFolder()
	contents := map[*Node]string{}
	for name, content := range files {
		node := &Node{Mode: 0o644, Size: int64(len(content))}
		contents[node] = content
		if err := root.insert(name, node); err != nil {
			return err
		}
	}
	image, err := New(root, options)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("erofs: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := image.WriteMetadata(file); err != nil {
		return err
	}
	for _, node := range image.Files() {
		if err := image.WriteFile(file, node, strings.NewReader(contents[node])); err != nil {
			return err
		}
	}
	return nil
}

func emptyFolder() *Node { return &Node{Mode: fs.ModeDir | 0o755, Entries: map[string]*Node{}} }

// insert puts a file at a path below a folder, and makes the folders on its way.
func (n *Node) insert(path string, file *Node) error {
	first, rest, deeper := strings.Cut(path, "/")
	if !deeper {
		n.Entries[first] = file
		return nil
	}
	child := n.Entries[first]
	if child == nil {
		child = emptyFolder()
		n.Entries[first] = child
	}
	if !child.Mode.IsDir() {
		return fmt.Errorf("erofs: %q is both a file and a folder", first)
	}
	return child.insert(rest, file)
}
