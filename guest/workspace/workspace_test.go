package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ai-dossier/zt-operator/guest/workspace"
)

// hostile is a folder with everything a worker could leave in it, and a file
// beside it that nothing may reach.
func hostile(t *testing.T) (*workspace.Folder, string) {
	t.Helper()
	outside := t.TempDir()
	dir := filepath.Join(outside, "workspace")
	script := []error{
		os.MkdirAll(filepath.Join(dir, "dir"), 0o755),
		os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o644),
		os.WriteFile(filepath.Join(dir, "dir", "file"), []byte("content"), 0o644),
		os.WriteFile(filepath.Join(dir, "large"), []byte(strings.Repeat("x", 101)), 0o644),
		os.Symlink("../secret", filepath.Join(dir, "link")),
		os.Symlink("..", filepath.Join(dir, "up")),
		os.Symlink("dir", filepath.Join(dir, "inner")),
		os.Symlink("/proc/self/fd/0", filepath.Join(dir, "magic")),
		os.Symlink("loop", filepath.Join(dir, "loop")),
		syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644),
	}
	if err := errors.Join(script...); err != nil {
		t.Fatal(err)
	}
	folder, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	return folder, outside
}

func TestRead(t *testing.T) {
	cases := map[string]struct {
		path string
		want error
	}{
		"a file":                           {"dir/file", nil},
		"a file over the limit":            {"large", workspace.ErrTooLarge},
		"a missing file":                   {"absent", workspace.ErrNotFound},
		"a missing folder":                 {"absent/file", workspace.ErrNotFound},
		"a folder":                         {"dir", workspace.ErrNotRegular},
		"a link out of the folder":         {"link", workspace.ErrNotRegular},
		"a path through a link out of it":  {"up/secret", workspace.ErrNotRegular},
		"a path through a link that stays": {"inner/file", workspace.ErrNotRegular},
		"a magic link":                     {"magic", workspace.ErrNotRegular},
		"a link to itself":                 {"loop", workspace.ErrNotRegular},
		"a FIFO that nobody writes":        {"fifo", workspace.ErrNotRegular},
		"a path through a file":            {"large/file", workspace.ErrNotRegular},
		"a path that climbs":               {"dir/../../secret", workspace.ErrNotRegular},
		"an absolute path":                 {"/etc/hostname", workspace.ErrNotRegular},
	}
	folder, _ := hostile(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			data, err := folder.Read(c.path, 100)
			if !errors.Is(err, c.want) || c.want == nil && string(data) != "content" {
				t.Fatalf("read %q, %v; want %v", data, err, c.want)
			}
		})
	}
}

func TestWrite(t *testing.T) {
	cases := map[string]struct {
		path string
		want error
	}{
		"a new file":                       {"new", nil},
		"a new file in new folders":        {"a/b/c", nil},
		"a file that replaces one":         {"dir/file", nil},
		"onto a link":                      {"link", workspace.ErrNotRegular},
		"onto a folder":                    {"dir", workspace.ErrNotRegular},
		"onto a FIFO that nobody reads":    {"fifo", workspace.ErrNotRegular},
		"through a link out of the folder": {"up/secret", workspace.ErrNotRegular},
		"through a link that stays":        {"inner/file", workspace.ErrNotRegular},
		"through a file":                   {"large/file", workspace.ErrNotRegular},
		"along a path that climbs":         {"dir/../../secret", workspace.ErrNotRegular},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			folder, outside := hostile(t)
			if err := folder.Write(c.path, []byte("written"), 0o640, os.Getuid()); !errors.Is(err, c.want) {
				t.Fatalf("write: %v, want %v", err, c.want)
			}
			if secret, _ := os.ReadFile(filepath.Join(outside, "secret")); string(secret) != "secret" {
				t.Fatalf("the file outside holds %q", secret)
			}
			if c.want == nil {
				checkWritten(t, filepath.Join(outside, "workspace", c.path))
			}
		})
	}
}

func checkWritten(t *testing.T, path string) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o640 {
		t.Fatalf("written file: %v, %v", info, err)
	}
	if data, _ := os.ReadFile(path); string(data) != "written" {
		t.Fatalf("written file holds %q", data)
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".zt-put*"))
	if len(left) != 0 {
		t.Fatalf("left behind: %v", left)
	}
}
