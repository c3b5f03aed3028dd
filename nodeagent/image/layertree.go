package image

import (
	"fmt"
	"io/fs"
	"strings"
)

// inode is a file, folder or link of an image. Hard links share one.
type inode struct {
	mode fs.FileMode // type and permissions
	// content is the number of the spooled file that holds a file's bytes.
	content int
	size    int64
	target  string
	entries map[string]entry
}

func newFolder(perm fs.FileMode) *inode {
	return &inode{mode: fs.ModeDir | perm, entries: map[string]entry{}}
}

// entry is a name in a folder, and the layer that last touched it.
type entry struct {
	*inode
	layer int
}

// layerTree is the union of an image's layers, bottom first, as data: links are
// recorded and never followed, so a layer has no way to name what is not its own.
type layerTree struct {
	root  *inode
	layer int
}

func newLayerTree() *layerTree { return &layerTree{root: newFolder(0o755)} }

// split cuts a layer's path into its segments; the root has none.
func split(path string) ([]string, error) {
	if len(path) > maxPath {
		return nil, fmt.Errorf("a path of %d bytes, more than %d", len(path), maxPath)
	}
	trimmed := strings.TrimSuffix(path, "/")
	for strings.HasPrefix(trimmed, "./") {
		trimmed = trimmed[2:]
	}
	if trimmed == "." {
		return nil, nil
	}
	segments := strings.Split(trimmed, "/")
	if len(segments) > maxDepth {
		return nil, fmt.Errorf("a path of %d segments, more than %d", len(segments), maxDepth)
	}
	for _, segment := range segments {
		switch {
		case segment == "" || segment == "." || segment == "..":
			return nil, fmt.Errorf("path %q is absolute or not in its plain form", path)
		case len(segment) > maxSegment:
			return nil, fmt.Errorf("path %q has a name longer than %d bytes", path, maxSegment)
		case strings.ContainsRune(segment, 0):
			return nil, fmt.Errorf("path %q has a NUL", path)
		}
	}
	return segments, nil
}

// lookup returns what is at a path, following no link; nil if nothing is.
func (t *layerTree) lookup(segments []string) *inode {
	at := t.root
	for _, segment := range segments {
		next, ok := at.entries[segment]
		if !ok {
			return nil
		}
		at = next.inode
	}
	return at
}

// folder returns the folder at a path and makes what is missing on the way.
func (t *layerTree) folder(segments []string) (*inode, error) {
	at := t.root
	for i, segment := range segments {
		next, ok := at.entries[segment]
		switch {
		case !ok:
			next = entry{newFolder(0o755), t.layer}
			at.entries[segment] = next
		case !next.mode.IsDir():
			return nil, fmt.Errorf("path %q passes through %q, which is not a folder",
				strings.Join(segments, "/"), strings.Join(segments[:i+1], "/"))
		}
		at = next.inode
	}
	return at, nil
}

// add puts an inode at a path. A folder over a folder keeps its entries.
func (t *layerTree) add(segments []string, node *inode) error {
	if len(segments) == 0 {
		if !node.mode.IsDir() {
			return fmt.Errorf("the root of a layer is not a folder")
		}
		t.root.mode = node.mode
		return nil
	}
	parent, err := t.folder(segments[:len(segments)-1])
	if err != nil {
		return err
	}
	name := segments[len(segments)-1]
	if old, ok := parent.entries[name]; ok && old.mode.IsDir() && node.mode.IsDir() {
		node.entries = old.entries
	}
	parent.entries[name] = entry{node, t.layer}
	return nil
}

// link makes a second name for a file that an earlier entry or layer has.
func (t *layerTree) link(segments []string, target string) error {
	to, err := split(target)
	if err != nil {
		return fmt.Errorf("hard link: %w", err)
	}
	node := t.lookup(to)
	if node == nil || node.mode.IsDir() {
		return fmt.Errorf("hard link to %q, which is no file of the image", target)
	}
	return t.add(segments, node)
}

const (
	whiteoutPrefix = ".wh."
	opaqueMarker   = ".wh..wh..opq"
	aufsPrefix     = ".wh..wh."
)

// whiteout applies an OCI whiteout: what lower layers have at the path is gone.
// It reports whether the path was one.
func (t *layerTree) whiteout(segments []string) (bool, error) {
	if len(segments) == 0 || !strings.HasPrefix(segments[len(segments)-1], whiteoutPrefix) {
		return false, nil
	}
	parent, name := t.lookup(segments[:len(segments)-1]), segments[len(segments)-1]
	switch {
	case parent == nil || !parent.mode.IsDir():
		return true, nil // nothing below to hide
	case name == opaqueMarker:
		t.dropLower(parent)
	case strings.HasPrefix(name, aufsPrefix):
	default:
		hidden := strings.TrimPrefix(name, whiteoutPrefix)
		if hidden == "" || hidden == "." || hidden == ".." {
			return true, fmt.Errorf("whiteout %q hides no name", name)
		}
		t.dropLowerEntry(parent, hidden)
	}
	return true, nil
}

// dropLower removes everything of lower layers from a folder.
func (t *layerTree) dropLower(folder *inode) {
	for name := range folder.entries {
		t.dropLowerEntry(folder, name)
	}
}

func (t *layerTree) dropLowerEntry(folder *inode, name string) {
	at, ok := folder.entries[name]
	if !ok {
		return
	}
	if at.mode.IsDir() {
		t.dropLower(at.inode)
	}
	if at.layer < t.layer && len(at.entries) == 0 {
		delete(folder.entries, name)
	}
}

// remove takes what is at a path away, whatever layer has it.
func (t *layerTree) remove(segments []string) {
	if len(segments) == 0 {
		return
	}
	parent := t.lookup(segments[:len(segments)-1])
	if parent != nil {
		delete(parent.entries, segments[len(segments)-1])
	}
}

// require makes sure that a folder is at the path, for a mount point.
func (t *layerTree) require(path string, perm fs.FileMode) error {
	segments, err := split(path)
	if err != nil {
		return err
	}
	at, err := t.folder(segments)
	if err != nil {
		return err
	}
	at.mode = fs.ModeDir | perm
	return nil
}
