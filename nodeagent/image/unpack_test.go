package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/nodeagent/erofs/erofstest"
)

// unpack applies layers in a fresh folder and returns the tree and the folder.
func unpack(t *testing.T, l limits, layers ...[]byte) (*flat, error) {
	t.Helper()
	return unpackBelow(t, t.TempDir(), l, layers...)
}

// unpackBelow is unpack in a new folder of the given one.
func unpackBelow(t *testing.T, dir string, l limits, layers ...[]byte) (*flat, error) {
	t.Helper()
	spool := filepath.Join(dir, "spool")
	if err := os.Mkdir(spool, 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(spool)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	u := newUnpacker(root, l)
	for _, content := range layers {
		if err := u.layer(bytes.NewReader(content), int64(len(content))); err != nil {
			return nil, err
		}
	}
	return &flat{u.tree, spool}, nil
}

// listing renders a tree with one line per entry.
func (f *flat) listing(t *testing.T) []string {
	t.Helper()
	var lines []string
	var walk func(prefix string, n *inode)
	walk = func(prefix string, n *inode) {
		for _, name := range slices.Sorted(maps.Keys(n.entries)) {
			at, path := n.entries[name], prefix+name
			switch {
			case at.mode.IsDir():
				lines = append(lines, path+"/")
				walk(path+"/", at.inode)
			case at.mode&fs.ModeSymlink != 0:
				lines = append(lines, path+" -> "+at.target)
			default:
				content, err := os.ReadFile(filepath.Join(f.spool, fmt.Sprint(at.content)))
				if err != nil {
					t.Fatal(err)
				}
				lines = append(lines, fmt.Sprintf("%s=%s", path, content))
			}
		}
	}
	walk("", f.tree.root)
	return lines
}

func TestLayersBecomeOneTree(t *testing.T) {
	for name, tc := range map[string]struct {
		layers [][]byte
		want   []string
	}{
		"an upper layer replaces files of a lower one": {
			[][]byte{layer(t, file("etc/a", "1"), file("etc/b", "1")), layer(t, file("etc/a", "2"))},
			[]string{"etc/", "etc/a=2", "etc/b=1"},
		},
		"a whiteout hides a file of a lower layer": {
			[][]byte{layer(t, file("etc/a", "1"), file("etc/b", "1")), layer(t, file("etc/.wh.a", ""))},
			[]string{"etc/", "etc/b=1"},
		},
		"a whiteout hides a whole folder": {
			[][]byte{layer(t, file("etc/d/a", "1")), layer(t, file("etc/.wh.d", ""))},
			[]string{"etc/"},
		},
		"a whiteout does not hide what its own layer has": {
			[][]byte{layer(t, file("etc/a", "1")), layer(t, file("etc/a", "2"), file("etc/.wh.a", ""))},
			[]string{"etc/", "etc/a=2"},
		},
		"an opaque folder keeps only its own layer's entries": {
			[][]byte{layer(t, file("d/a", "1"), file("d/s/b", "1")), layer(t, folder("d/"), file("d/c", "2"), file("d/.wh..wh..opq", ""))},
			[]string{"d/", "d/c=2"},
		},
		"a whiteout of what is not there is nothing": {
			[][]byte{layer(t, file("x/.wh.y", ""), file("a", "1"))},
			[]string{"a=1"},
		},
		"a file over a folder replaces all of it": {
			[][]byte{layer(t, file("d/a", "1")), layer(t, file("d", "2"))},
			[]string{"d=2"},
		},
		"a folder over a link replaces the link": {
			[][]byte{layer(t, symlink("lib", "usr/lib")), layer(t, folder("lib"), file("lib/a", "1"))},
			[]string{"lib/", "lib/a=1"},
		},
		"a hard link survives the removal of its target": {
			[][]byte{layer(t, file("a", "1"), hardlink("b", "a")), layer(t, file(".wh.a", ""))},
			[]string{"b=1"},
		},
		"a hard link keeps the content of its own layer": {
			[][]byte{layer(t, file("a", "1"), hardlink("b", "./a")), layer(t, file("a", "2"))},
			[]string{"a=2", "b=1"},
		},
		"links are kept as they are, wherever they point": {
			[][]byte{layer(t, symlink("a", "/etc/passwd"), symlink("b", "../../../x"))},
			[]string{"a -> /etc/passwd", "b -> ../../../x"},
		},
		"devices, pipes and what they replace are dropped": {
			[][]byte{layer(t, file("a", "1")), layer(t, special("a", tar.TypeChar), special("b", tar.TypeBlock), special("c", tar.TypeFifo))},
			nil,
		},
		"names in their dotted form are the same names": {
			[][]byte{layer(t, folder("./"), folder("./etc/"), file("./etc/a", "1"))},
			[]string{"etc/", "etc/a=1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := unpack(t, defaultLimits, tc.layers...)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.listing(t); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestHostileLayersAreRefused(t *testing.T) {
	small := defaultLimits
	small.unpacked, small.entries, small.names = 1<<20, 100, 4<<10
	tight := defaultLimits
	tight.ratio, tight.slack = 2, 0
	many := make([]member, 101)
	for i := range many {
		many[i] = file(fmt.Sprintf("f%d", i), "")
	}
	for name, tc := range map[string]struct {
		limits limits
		layers [][]byte
		want   string
	}{
		"an absolute path":                       {defaultLimits, [][]byte{layer(t, file("/etc/passwd", "x"))}, "absolute"},
		"a path that climbs":                     {defaultLimits, [][]byte{layer(t, file("../x", "x"))}, "plain form"},
		"a path that climbs from within":         {defaultLimits, [][]byte{layer(t, file("a/../../x", "x"))}, "plain form"},
		"a path through a link of its own layer": {defaultLimits, [][]byte{layer(t, symlink("a", "/etc"), file("a/passwd", "x"))}, "not a folder"},
		"a path through a link of a lower layer": {defaultLimits, [][]byte{layer(t, symlink("a", "..")), layer(t, file("a/x", "x"))}, "not a folder"},
		"a path through a file":                  {defaultLimits, [][]byte{layer(t, file("a", ""), file("a/x", "x"))}, "not a folder"},
		"a hard link out of the image":           {defaultLimits, [][]byte{layer(t, hardlink("a", "../../etc/shadow"))}, "plain form"},
		"a hard link to an absolute path":        {defaultLimits, [][]byte{layer(t, hardlink("a", "/etc/shadow"))}, "absolute"},
		"a hard link through a link":             {defaultLimits, [][]byte{layer(t, symlink("l", "/etc"), hardlink("a", "l/shadow"))}, "no file"},
		"a hard link to a folder":                {defaultLimits, [][]byte{layer(t, folder("d"), hardlink("a", "d"))}, "no file"},
		"a whiteout that climbs":                 {defaultLimits, [][]byte{layer(t, file("d/.wh...", ""), file("d/x", "")), layer(t, file("d/.wh...", ""))}, "hides no name"},
		"more bytes than the image may have":     {small, [][]byte{layer(t, file("a", strings.Repeat("x", 2<<20)))}, "limit"},
		"more bytes over several layers":         {small, [][]byte{layer(t, file("a", strings.Repeat("x", 700<<10))), layer(t, file("b", strings.Repeat("x", 700<<10)))}, ""},
		"more entries than the image may have":   {small, [][]byte{layer(t, many...)}, "entries"},
		"more names than memory may hold":        {small, [][]byte{layer(t, symlink("a", strings.Repeat("x", 3<<10)), symlink("b", strings.Repeat("x", 3<<10)))}, "names"},
		"a name longer than a file system takes": {defaultLimits, [][]byte{layer(t, file(strings.Repeat("n", 256), ""))}, "longer"},
		"a path deeper than any image's":         {defaultLimits, [][]byte{layer(t, file(strings.Repeat("d/", 200)+"x", ""))}, "segments"},
		"a truncated archive":                    {defaultLimits, [][]byte{layer(t, file("a", strings.Repeat("x", 2048)))[:1024]}, "EOF"},
		"bytes that are no archive":              {defaultLimits, [][]byte{bytes.Repeat([]byte("no tar "), 512)}, "archive"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := unpack(t, tc.limits, tc.layers...)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
	t.Run("a root that is a file", func(t *testing.T) {
		if err := newLayerTree().add(nil, &inode{}); err == nil {
			t.Error("a file became the root")
		}
	})
	t.Run("a layer that unpacks to far more than its size", func(t *testing.T) {
		spool, _ := os.OpenRoot(t.TempDir())
		defer spool.Close()
		content := layer(t, file("a", strings.Repeat("x", 1<<20)))
		if err := newUnpacker(spool, tight).layer(bytes.NewReader(content), 1024); !errors.Is(err, errTooLarge) {
			t.Errorf("got %v, want %v", err, errTooLarge)
		}
	})
}

func TestModesAreStripped(t *testing.T) {
	f, err := unpack(t, defaultLimits, layer(t,
		withMode(file("su", "x"), 0o4755), withMode(file("sg", "x"), 0o2755),
		withMode(folder("tmp"), 0o1777), withMode(folder("sgd"), 0o2775)))
	if err != nil {
		t.Fatal(err)
	}
	image := filepath.Join(t.TempDir(), "image")
	if err := f.pack(image); err != nil {
		t.Fatal(err)
	}
	root := erofstest.Mount(t, image)
	for name, want := range map[string]fs.FileMode{
		"su": 0o755, "sg": 0o755, "tmp": fs.ModeDir | fs.ModeSticky | 0o777, "sgd": fs.ModeDir | 0o775,
	} {
		info, err := os.Lstat(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode(), want)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(layer(f, file("a/b", "x"), symlink("c", "/a"), hardlink("d", "a/b"), file("a/.wh.b", "")))
	f.Add(layer(f, file("../x", "x")))
	f.Fuzz(func(t *testing.T, content []byte) {
		l := defaultLimits
		l.unpacked = 1 << 20
		outside := t.TempDir()
		flattened, err := unpackBelow(t, outside, l, content)
		if err != nil {
			return
		}
		if err := flattened.pack(filepath.Join(outside, "root")); err != nil {
			return
		}
		if entries, _ := os.ReadDir(outside); len(entries) != 2 {
			t.Errorf("%d entries beside spool and image", len(entries)-2)
		}
	})
}
