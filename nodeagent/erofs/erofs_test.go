package erofs

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/nodeagent/erofs/erofstest"
)

// builder holds the content of the files it made.
type builder struct{ content map[*Node]string }

func newBuilder() *builder { return &builder{map[*Node]string{}} }

func (b *builder) file(content string) *Node {
	n := &Node{Mode: 0o644, Size: int64(len(content))}
	b.content[n] = content
	return n
}

func folder(entries map[string]*Node) *Node { return &Node{Mode: fs.ModeDir | 0o755, Entries: entries} }

func symlink(target string) *Node { return &Node{Mode: fs.ModeSymlink | 0o777, Target: target} }

func (b *builder) write(t testing.TB, root *Node) string {
	t.Helper()
	img, err := New(root, Options{UID: 1000, GID: 1001, UUID: [16]byte{1, 2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "image")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := img.WriteMetadata(file); err != nil {
		t.Fatal(err)
	}
	for _, n := range img.Files() {
		if err := img.WriteFile(file, n, strings.NewReader(b.content[n])); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("fsck.erofs", path).CombinedOutput(); err != nil {
		t.Errorf("fsck.erofs: %v: %s", err, out)
	}
	return path
}

// describe renders what the kernel sees below a folder, content as its hash.
func describe(t *testing.T, dir string) []string {
	t.Helper()
	var lines []string
	for _, e := range erofstest.List(t, dir) {
		line := fmt.Sprintf("%q %v %d:%d links=%d time=%d", e.Path, e.Mode, e.UID, e.GID, e.Links, e.Modified.Unix())
		switch {
		case e.Mode.IsRegular():
			line += fmt.Sprintf(" %d %x", len(e.Content), fnv([]byte(e.Content)))
		case e.Mode&fs.ModeSymlink != 0:
			line += fmt.Sprintf(" -> %x", fnv([]byte(e.Content)))
		}
		lines = append(lines, line)
	}
	sort.Strings(lines)
	return lines
}

func fnv(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// want renders a tree as describe would.
func (b *builder) want(root *Node) []string {
	links := map[*Node]int{}
	var count func(*Node)
	count = func(n *Node) {
		for _, child := range n.Entries {
			links[child]++
			count(child)
		}
	}
	count(root)
	var lines []string
	var walk func(string, *Node)
	walk = func(path string, n *Node) {
		link := links[n]
		if n.Mode.IsDir() {
			link = 2
			for _, child := range n.Entries {
				if child.Mode.IsDir() {
					link++
				}
			}
		}
		line := fmt.Sprintf("%q %v 1000:1001 links=%d time=0", path, n.Mode, link)
		switch {
		case n.Mode.IsRegular():
			line += fmt.Sprintf(" %d %x", n.Size, fnv([]byte(b.content[n])))
		case n.Mode&fs.ModeSymlink != 0:
			line += fmt.Sprintf(" -> %x", fnv([]byte(n.Target)))
		}
		lines = append(lines, line)
		for name, child := range n.Entries {
			if path == "." {
				walk(name, child)
			} else {
				walk(path+"/"+name, child)
			}
		}
	}
	walk(".", root)
	sort.Strings(lines)
	return lines
}

// pattern is content that differs at every offset and length.
func pattern(n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(i*7 + i>>8 + n)
	}
	return string(out)
}

func TestTheKernelSeesTheTree(t *testing.T) {
	b := newBuilder()
	shared := b.file("shared")
	sizes := map[string]*Node{}
	for _, n := range []int{0, 1, 31, 32, 4031, 4063, 4064, 4065, 4095, 4096, 4097, 8159, 8160, 8161, 8192, 12287, 100_000, 5 << 20} {
		sizes[fmt.Sprint("size", n)] = b.file(pattern(n))
	}
	links := map[string]*Node{}
	for _, n := range []int{1, 59, 60, 255, 4063, 4064, 4065, 4095} {
		links[fmt.Sprint("link", n)] = symlink(strings.Repeat("t", n))
	}
	full := map[string]*Node{}
	for i := range 3000 {
		full[fmt.Sprintf("entry-%d-%s", i, strings.Repeat("n", i%200))] = b.file(pattern(i))
	}
	// Folders whose listing ends around the end of a block.
	edges := map[string]*Node{}
	for spare := range 60 {
		inside := map[string]*Node{}
		left := blockSize - spare - 2*entrySize - len(".") - len("..")
		for i := 0; left > entrySize+3; i++ {
			length := min(left-entrySize, 200)
			inside[fmt.Sprintf("%03d%s", i, strings.Repeat("e", length-3))] = shared
			left -= entrySize + length
		}
		edges[fmt.Sprint(spare)] = folder(inside)
	}
	executable := b.file("#!/bin/sh\n")
	executable.Mode = 0o755
	root := folder(map[string]*Node{
		"sizes": folder(sizes), "links": folder(links), "full": folder(full), "edges": folder(edges), "none": folder(nil),
		"-dash": b.file("1"), "!bang": b.file("2"), "~tilde": b.file("3"), "été": b.file("4"), "\xff": b.file("5"),
		".hidden": b.file("6"), "...": b.file("7"), "shared": shared, "run": executable,
		"tmp":  {Mode: fs.ModeDir | fs.ModeSticky | 0o777},
		"deep": folder(map[string]*Node{"er": folder(map[string]*Node{"est": shared})}),
	})
	image := b.write(t, root)
	got, want := describe(t, erofstest.Mount(t, image)), b.want(root)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("got\n%s\nwant\n%s", got[i], want[i])
			}
		}
		t.Fatalf("%d entries, want %d", len(got), len(want))
	}
}

func TestEveryNameIsFound(t *testing.T) {
	b := newBuilder()
	entries := map[string]*Node{}
	for c := 1; c < 256; c++ {
		if c != '/' {
			entries[string([]byte{byte(c)})+"x"] = b.file("a")
			entries[strings.Repeat(string([]byte{byte(c)}), 100)] = b.file("b")
		}
	}
	dir := erofstest.Mount(t, b.write(t, folder(entries)))
	for name := range entries {
		if _, err := os.Lstat(dir + "/" + name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := os.Lstat(dir + "/absent"); !os.IsNotExist(err) {
		t.Errorf("a name that is not there: %v", err)
	}
}

func TestTheSameTreeIsTheSameBytes(t *testing.T) {
	var images [2][]byte
	for i := range images {
		b := newBuilder()
		entries := map[string]*Node{}
		for j := range 100 {
			entries[fmt.Sprint(j)] = b.file(pattern(j * 50))
		}
		content, err := os.ReadFile(b.write(t, folder(entries)))
		if err != nil {
			t.Fatal(err)
		}
		images[i] = content
	}
	if !bytes.Equal(images[0], images[1]) {
		t.Error("they differ")
	}
}

func TestWhatTheFormatCannotSayIsRefused(t *testing.T) {
	loop := folder(nil)
	for name, root := range map[string]*Node{
		"a root that is a file":      {Mode: 0o644},
		"an empty name":              folder(map[string]*Node{"": folder(nil)}),
		"a name with a slash":        folder(map[string]*Node{"a/b": folder(nil)}),
		"a name of two dots":         folder(map[string]*Node{"..": folder(nil)}),
		"a name that is too long":    folder(map[string]*Node{strings.Repeat("n", 256): folder(nil)}),
		"a device":                   folder(map[string]*Node{"a": {Mode: fs.ModeDevice}}),
		"a file that is too large":   folder(map[string]*Node{"a": {Size: 4 << 30}}),
		"a link without a target":    folder(map[string]*Node{"a": symlink("")}),
		"a link with a long target":  folder(map[string]*Node{"a": symlink(strings.Repeat("t", 4096))}),
		"a folder with two names":    folder(map[string]*Node{"a": loop, "b": loop}),
		"a file of a negative size":  folder(map[string]*Node{"a": {Size: -1}}),
		"a link target with a NUL":   folder(map[string]*Node{"a": symlink("a\x00b")}),
		"a name with a NUL":          folder(map[string]*Node{"a\x00": folder(nil)}),
		"a name that is one dot":     folder(map[string]*Node{".": folder(nil)}),
		"a pipe under a good folder": folder(map[string]*Node{"d": folder(map[string]*Node{"p": {Mode: fs.ModeNamedPipe}})}),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(root, Options{}); err == nil {
				t.Error("it was laid out")
			}
		})
	}
}

func TestContentOfAnotherSizeIsAnError(t *testing.T) {
	for _, other := range []int{0, 4999, 5001} {
		n := &Node{Mode: 0o644, Size: 5000}
		img, err := New(folder(map[string]*Node{"a": n}), Options{})
		if err != nil {
			t.Fatal(err)
		}
		file, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if err := img.WriteFile(file, n, strings.NewReader(pattern(other))); err == nil {
			t.Errorf("%d bytes passed for 5000", other)
		}
	}
}

func TestPackIsWhatTheKernelReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "image")
	files := map[string]string{"README": "the tree\n", "a/b/c": strings.Repeat("x", 5000), "a/d": ""}
	if err := Pack(path, files, Options{UID: 1000, GID: 1000}); err != nil {
		t.Fatal(err)
	}
	dir := erofstest.Mount(t, path)
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	if err := Pack(path, files, Options{}); err == nil {
		t.Error("an existing file was written over")
	}
	if err := Pack(path+"2", map[string]string{"a": "", "a/b": ""}, Options{}); err == nil {
		t.Error("a file that is a folder too was packed")
	}
}
