package source

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/testneeds"
	"github.com/ai-dossier/zt-operator/nodeagent/erofs/erofstest"
)

// contents renders every file below a folder.
func contents(t *testing.T, dir string) []string {
	t.Helper()
	var lines []string
	for _, e := range erofstest.List(t, dir) {
		line := fmt.Sprintf("%v %d:%d %d %q", e.Mode, e.UID, e.GID, e.Modified.Unix(), e.Path)
		switch {
		case e.Mode&fs.ModeSymlink != 0:
			line += " -> " + e.Content
		case e.Mode.IsRegular():
			line += fmt.Sprintf(" %q", e.Content)
		}
		lines = append(lines, line)
	}
	sort.Strings(lines)
	return lines
}

func TestTheDiskIsExactlyTheTree(t *testing.T) {
	r := newRepo(t)
	base, regression, candidate := r.three(map[string]string{
		"-rf": "dash", `back\slash`: "b", "été/naïve": "u", "link": "-> /etc/passwd", "up": "-> ../../..", ".gitattributes": "* text eol=crlf filter=lfs\n",
		"crlf": "a\nb\n", "empty": "",
	})
	s, err := read(t, &Reader{}, r.bundle(candidate), proofOf(base, regression, candidate))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var sums [2][32]byte
	for i := range sums {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := s.Disk(t.Context(), v1alpha1.TreeCandidate, path); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = sha256.Sum256(content)
		var st syscall.Stat_t
		if err := syscall.Lstat(path, &st); err != nil || st.Uid != 0 || st.Mode != syscall.S_IFREG|0o444 || st.Nlink != 1 {
			t.Errorf("the disk is %+v, %v", st, err)
		}
	}
	if sums[0] != sums[1] {
		t.Error("the same tree made two different disks")
	}
	if err := s.Disk(t.Context(), v1alpha1.TreeCandidate, filepath.Join(dir, "0")); err == nil {
		t.Error("an existing disk was replaced")
	}
	if err := s.Disk(t.Context(), "Other", filepath.Join(dir, "other")); err == nil {
		t.Error("a tree that was not read has a disk")
	}
	got := contents(t, erofstest.Mount(t, filepath.Join(dir, "0")))
	want := []string{
		`-rw-r--r-- 1000:1000 0 "-rf" "dash"`,
		`-rw-r--r-- 1000:1000 0 ".gitattributes" "* text eol=crlf filter=lfs\n"`,
		`-rw-r--r-- 1000:1000 0 "back\\slash" "b"`,
		`-rw-r--r-- 1000:1000 0 "crlf" "a\nb\n"`,
		`-rw-r--r-- 1000:1000 0 "empty" ""`,
		`-rw-r--r-- 1000:1000 0 "package-lock.json" "{\"lockfileVersion\":3}"`,
		`-rw-r--r-- 1000:1000 0 "package.json" "{\"name\":\"x\"}"`,
		`-rw-r--r-- 1000:1000 0 "src/index.js" "fix"`,
		`-rw-r--r-- 1000:1000 0 "test/bug.test.js" "test"`,
		`-rw-r--r-- 1000:1000 0 "été/naïve" "u"`,
		`-rwxr-xr-x 1000:1000 0 "run" "#!/bin/sh\n"`,
		`Lrwxrwxrwx 1000:1000 0 "link" -> /etc/passwd`,
		`Lrwxrwxrwx 1000:1000 0 "up" -> ../../..`,
		`drwxr-xr-x 1000:1000 0 "."`,
		`drwxr-xr-x 1000:1000 0 "src"`,
		`drwxr-xr-x 1000:1000 0 "test"`,
		`drwxr-xr-x 1000:1000 0 "été"`,
	}
	sort.Strings(want)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestWhatTheChildLeftIsNotTrusted(t *testing.T) {
	for name, leave := range map[string]func(work, path string){
		"nothing":                 func(string, string) {},
		"a link":                  func(_, path string) { os.Symlink("/etc/passwd", path) },
		"a folder":                func(_, path string) { os.Mkdir(path, 0o755); os.Chown(path, testUID, testUID) },
		"a pipe":                  func(_, path string) { syscall.Mkfifo(path, 0o644); os.Chown(path, testUID, testUID) },
		"a file of somebody else": func(_, path string) { os.WriteFile(path, []byte("x"), 0o644) },
		"an empty file":           func(_, path string) { os.WriteFile(path, nil, 0o644); os.Chown(path, testUID, testUID) },
		"a file with another name": func(work, path string) {
			os.WriteFile(path, []byte("x"), 0o644)
			os.Chown(path, testUID, testUID)
			os.Link(path, work+"/b")
		},
		"a file that is too large": func(_, path string) {
			os.WriteFile(path, nil, 0o644)
			os.Truncate(path, maxDisk+1)
			os.Chown(path, testUID, testUID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			testneeds.Root(t)
			dir := t.TempDir()
			box, err := (&Reader{}).newSandbox(dir, testUID)
			if err != nil {
				t.Fatal(err)
			}
			work := filepath.Join(box.dir, workName)
			leave(work, filepath.Join(work, diskName))
			target := filepath.Join(t.TempDir(), "disk")
			if err := box.collect(target); err == nil {
				t.Error("it was taken for a disk")
			}
			if _, err := os.Lstat(target); err == nil {
				t.Error("it was delivered")
			}
			if err := box.remove(); err != nil {
				t.Error(err)
			}
			assertNothingLeft(t, dir)
		})
	}
}

func manyFiles(n int) map[string]string {
	files := map[string]string{"test/bug.test.js": "x"}
	for i := range n {
		files[fmt.Sprintf("src/%03d/%03d/file%d.js", i/1000, i/50%20, i)] = strings.Repeat(fmt.Sprintf("line %d\n", i), 50)
	}
	return files
}

// fastRepo writes many files with one git process.
func fastRepo(t testing.TB, n int) (*repo, string) {
	r := newRepo(t)
	var stream strings.Builder
	stream.WriteString("commit refs/heads/main\ncommitter a <a@example.org> 1 +0000\ndata 1\nm\n")
	for path, content := range manyFiles(n) {
		fmt.Fprintf(&stream, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
	}
	r.git(stream.String(), "fast-import", "--quiet")
	return r, r.git("", "rev-parse", "main")
}

func TestTwentyThousandFiles(t *testing.T) {
	r, commit := fastRepo(t, 20_000)
	bundle := r.bundle(commit)
	start := time.Now()
	s, err := read(t, &Reader{}, bundle, proofOf(commit, commit, commit))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Trees[v1alpha1.TreeBase].Files; got != 20_001 {
		t.Errorf("%d files", got)
	}
	t.Logf("read %d KiB in %v", len(bundle)>>10, time.Since(start))
	start = time.Now()
	if err := s.Disk(t.Context(), v1alpha1.TreeBase, filepath.Join(t.TempDir(), "disk")); err != nil {
		t.Fatal(err)
	}
	t.Logf("disk in %v", time.Since(start))
}

// BenchmarkDisk writes a tree of 10,000 files as a disk.
func BenchmarkDisk(b *testing.B) {
	r, commit := fastRepo(b, 10_000)
	s, err := read(b, &Reader{}, r.bundle(commit), proofOf(commit, commit, commit))
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	for i := 0; b.Loop(); i++ {
		if err := s.Disk(b.Context(), v1alpha1.TreeBase, filepath.Join(dir, fmt.Sprint(i))); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead reads a bundle of 10,000 files, for three trees.
func BenchmarkRead(b *testing.B) {
	r, commit := fastRepo(b, 10_000)
	bundle := r.bundle(commit)
	for b.Loop() {
		s, err := (&Reader{}).Read(b.Context(), bundle, proofOf(commit, commit, commit), b.TempDir(), testUID)
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}
