package safepath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ai-dossier/zt-operator/internal/testneeds"
)

// world is a base folder beside a file that must never be touched.
func world(t *testing.T) (base *Dir, outside string) {
	t.Helper()
	root := t.TempDir()
	outside = filepath.Join(root, "outside")
	if err := errors.Join(os.Mkdir(outside, 0o755), os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o644),
		os.Mkdir(filepath.Join(root, "base"), 0o755)); err != nil {
		t.Fatal(err)
	}
	base, err := Open(filepath.Join(root, "base"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = base.Close() })
	return base, outside
}

func symlink(t *testing.T, target string, base *Dir, name string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(base.Path(), name)); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, base *Dir, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(base.Path(), name), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestNothingLeavesTheBase(t *testing.T) {
	base, outside := world(t)
	mkdir(t, base, "dir")
	symlink(t, outside, base, "link")
	symlink(t, filepath.Join(outside, "secret"), base, "file")
	symlink(t, "dir", base, "inner")
	names := map[string]string{
		"through a link out":             "link/secret",
		"at a link out":                  "file",
		"through a link that stays":      "inner/x",
		"by climbing":                    "../outside/secret",
		"by climbing inside":             "dir/../../outside/secret",
		"by an absolute path":            filepath.Join(outside, "secret"),
		"through the magic link of proc": "../../../../proc/self/root/etc/hostname",
	}
	for how, name := range names {
		t.Run(how, func(t *testing.T) {
			if file, err := base.OpenRegular(name); err == nil {
				t.Errorf("opened %s", file.Name())
			}
			if file, err := base.Create(name, 0o600); err == nil {
				t.Errorf("created %s", file.Name())
			}
			if dir, err := base.OpenDir(filepath.Dir(name)); err == nil && filepath.Dir(name) != "." {
				t.Errorf("opened %s", dir.Path())
			}
			if err := base.Chown(name, 1, 1); err == nil {
				t.Error("gave it away")
			}
			if err := base.RemoveAll(name); err == nil && how != "at a link out" {
				t.Error("removed it")
			}
		})
	}
	if text, err := os.ReadFile(filepath.Join(outside, "secret")); string(text) != "secret" {
		t.Errorf("the secret is %q (%v)", text, err)
	}
}

func TestMkdirPrivate(t *testing.T) {
	base, outside := world(t)
	uid, gid := uint32(os.Geteuid()), uint32(os.Getegid())
	if uid == 0 {
		uid, gid = 64123, 64124
	}
	old := unix.Umask(0o777)
	dir, err := base.MkdirPrivate("a", uid, gid)
	unix.Umask(old)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	info, err := os.Lstat(filepath.Join(base.Path(), "a"))
	if err != nil {
		t.Fatal(err)
	}
	stat := info.Sys().(*syscall.Stat_t)
	if info.Mode() != fs.ModeDir|0o700 || stat.Uid != uid || stat.Gid != gid {
		t.Errorf("made %s of %d:%d", info.Mode(), stat.Uid, stat.Gid)
	}
	symlink(t, outside, base, "planted")
	for _, name := range []string{"a", "planted", "x/y", "..", ".", "", "/x"} {
		if _, err := base.MkdirPrivate(name, uid, gid); err == nil {
			t.Errorf("made %q", name)
		}
	}
}

func TestMkdirPassableLetsOthersThroughOnly(t *testing.T) {
	base, _ := world(t)
	dir, err := base.MkdirPassable("r")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	info, err := os.Lstat(dir.Path())
	if err != nil || info.Mode() != fs.ModeDir|0o711 {
		t.Errorf("made %v (%v)", info.Mode(), err)
	}
}

func TestCreateNeverReplaces(t *testing.T) {
	base, _ := world(t)
	for range 2 {
		file, err := base.Create("f", 0o600)
		if err == nil {
			defer file.Close()
		}
		if _, statErr := os.Stat(filepath.Join(base.Path(), "f")); statErr != nil {
			t.Fatal(statErr)
		}
	}
	if _, err := base.Create("f", 0o600); !errors.Is(err, os.ErrExist) {
		t.Errorf("got %v", err)
	}
}

func TestOpenRegularRefusesWhatIsNot(t *testing.T) {
	base, _ := world(t)
	mkdir(t, base, "dir")
	if err := unix.Mkfifo(filepath.Join(base.Path(), "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dir", "fifo", "none"} {
		if _, err := base.OpenRegular(name); err == nil {
			t.Errorf("opened %s", name)
		}
	}
}

func TestChownRefusesAFileWithAnotherName(t *testing.T) {
	base, outside := world(t)
	if err := os.Link(filepath.Join(outside, "secret"), filepath.Join(base.Path(), "hard")); err != nil {
		t.Fatal(err)
	}
	if err := base.Chown("hard", uint32(os.Geteuid()), uint32(os.Getegid())); err == nil {
		t.Error("gave away a file of somebody's")
	}
}

func TestRemoveAllRemovesTheTreeAndNothingElse(t *testing.T) {
	base, outside := world(t)
	mkdir(t, base, "tree/a/b/c")
	mkdir(t, base, "kept")
	symlink(t, outside, base, "tree/link")
	symlink(t, filepath.Join(outside, "secret"), base, "tree/a/file")
	if err := unix.Mkfifo(filepath.Join(base.Path(), "tree/a/fifo"), 0); err != nil {
		t.Fatal(err)
	}
	for i := range 2000 {
		if err := os.WriteFile(filepath.Join(base.Path(), "tree/a/b", string(rune('a'+i%26))+string(rune(0x100+i))), nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // The second time there is nothing to remove.
		if err := base.RemoveAll("tree"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Lstat(filepath.Join(base.Path(), "tree")); !os.IsNotExist(err) {
		t.Errorf("the tree is still there (%v)", err)
	}
	for _, path := range []string{filepath.Join(outside, "secret"), filepath.Join(base.Path(), "kept")} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

func TestRemoveAllOfALinkRemovesTheLink(t *testing.T) {
	base, outside := world(t)
	symlink(t, outside, base, "link")
	if err := base.RemoveAll("link"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(outside, "secret")); err != nil {
		t.Error(err)
	}
}

func TestRemoveAllIsBoundedInDepth(t *testing.T) {
	base, _ := world(t)
	parent := base
	for range maxDepth + 10 {
		child, err := parent.MkdirPrivate("d", uint32(os.Geteuid()), uint32(os.Getegid()))
		if err != nil {
			t.Fatal(err)
		}
		if parent != base {
			_ = parent.Close()
		}
		parent = child
	}
	_ = parent.Close()
	if err := base.RemoveAll("d"); err == nil {
		t.Error("removed a tree that is too deep")
	}
}

func TestRemoveAllStopsAtAMountPoint(t *testing.T) {
	testneeds.Root(t)
	base, outside := world(t)
	mkdir(t, base, "tree/mount")
	target := filepath.Join(base.Path(), "tree/mount")
	if err := unix.Mount(outside, target, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(target, unix.MNT_DETACH) })
	if err := base.RemoveAll("tree"); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(filepath.Join(outside, "secret")); err != nil {
		t.Error("removed through a mount: ", err)
	}
}
