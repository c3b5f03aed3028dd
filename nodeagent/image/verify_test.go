package image

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// overwrite changes a file's bytes and puts size and time back as they were.
func overwrite(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt([]byte{'X'}, 0); err != nil {
		t.Fatal(err)
	}
	file.Close()
	if err := os.Chmod(path, readOnly); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
}

func TestTamperedStoresAreRefused(t *testing.T) {
	r := newRegistry(t)
	spec := r.profile(worker(t))
	for name, tc := range map[string]struct {
		tamper func(t *testing.T, m *Manifest)
		want   v1alpha1.Detail
	}{
		"a root with one byte changed and its time put back": {
			func(t *testing.T, m *Manifest) { overwrite(t, m.Runtimes["node-22"].Path) }, v1alpha1.DetailProfileImageMismatch},
		"a disk base with one byte changed": {
			func(t *testing.T, m *Manifest) { overwrite(t, m.DiskBase.Path) }, v1alpha1.DetailProfileImageMismatch},
		"a kernel that grew": {
			func(t *testing.T, m *Manifest) { grow(t, m.Kernel.Path) }, v1alpha1.DetailProfileImageMismatch},
		"an initrd that is gone": {
			func(t *testing.T, m *Manifest) { os.Remove(m.Initrd.Path) }, v1alpha1.DetailProfileImageMissing},
		"a kernel that others can write": {
			func(t *testing.T, m *Manifest) { os.Chmod(m.Kernel.Path, 0o446) }, v1alpha1.DetailProfileImageUntrusted},
		"a kernel of another owner": {
			func(t *testing.T, m *Manifest) { os.Chown(m.Kernel.Path, 12345, 12345) }, v1alpha1.DetailProfileImageUntrusted},
		"a link in place of the kernel": {
			func(t *testing.T, m *Manifest) {
				os.Rename(m.Kernel.Path, m.Kernel.Path+".real")
				os.Symlink(m.Kernel.Path+".real", m.Kernel.Path)
			}, v1alpha1.DetailProfileImageUntrusted},
		"a pipe in place of the kernel": {
			func(t *testing.T, m *Manifest) {
				os.Remove(m.Kernel.Path)
				exec.Command("mkfifo", m.Kernel.Path).Run()
			}, v1alpha1.DetailProfileImageUntrusted},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			m := mustBake(t, s, spec)
			if err := m.Verify(); err != nil {
				t.Fatal(err)
			}
			tc.tamper(t, m)
			fresh, err := Open(s.dir)
			if err != nil {
				t.Fatal(err)
			}
			reloaded, err := fresh.Load(m.Digest)
			if err != nil {
				t.Fatal(err)
			}
			for which, manifest := range map[string]*Manifest{"the process that verified": m, "another process": reloaded} {
				if err := manifest.Verify(); detailOf(err) != tc.want {
					t.Errorf("%s: got %v, want %s", which, err, tc.want)
				}
			}
			if tc.want == v1alpha1.DetailProfileImageUntrusted {
				return // a person has to look
			}
			if again := mustBake(t, s, spec); again.Digest != m.Digest || again.Verify() != nil {
				t.Errorf("the next bake did not repair it: %v", again.Verify())
			}
		})
	}
}

func grow(t *testing.T, path string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString("more"); err != nil {
		t.Fatal(err)
	}
}

func TestTamperedManifestIsRefused(t *testing.T) {
	s := newStore(t)
	m := mustBake(t, s, newRegistry(t).profile(worker(t)))
	overwrite(t, s.path(manifestsDir, strings.TrimPrefix(m.Digest, digestPrefix)+".json"))
	if _, err := s.Load(m.Digest); detailOf(err) != v1alpha1.DetailProfileImageMismatch {
		t.Errorf("got %v", err)
	}
}

func TestVerifyHashesOnce(t *testing.T) {
	m := mustBake(t, newStore(t), newRegistry(t).profile(worker(t)))
	if err := m.Verify(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	for range 1000 {
		if err := m.Verify(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%v per check", time.Since(start)/1000)
	before := m.checked.seen[m.Kernel.Path]
	now := time.Now()
	if err := os.Chtimes(m.Kernel.Path, now, now); err != nil {
		t.Fatal(err)
	}
	if err := m.Verify(); err != nil {
		t.Fatal(err)
	}
	if m.checked.seen[m.Kernel.Path] == before {
		t.Error("a touched file was not looked at again")
	}
}

func TestUntrustedStoresAreRefused(t *testing.T) {
	for name, prepare := range map[string]func(dir string){
		"a store that is a link":           func(dir string) { os.Symlink("/tmp", dir) },
		"a store that is a file":           func(dir string) { os.WriteFile(dir, nil, 0o600) },
		"a store that others can write":    func(dir string) { os.Mkdir(dir, 0o700); os.Chmod(dir, 0o777) },
		"a store of another owner":         func(dir string) { os.Mkdir(dir, 0o700); os.Chown(dir, 12345, 12345) },
		"a store whose blobs are a link":   func(dir string) { os.Mkdir(dir, 0o700); os.Symlink("/tmp", dir+"/blobs") },
		"a store whose staging is a link":  func(dir string) { os.Mkdir(dir, 0o700); os.Symlink("/tmp", dir+"/staging") },
		"a store whose records are a link": func(dir string) { os.Mkdir(dir, 0o700); os.Symlink("/tmp", dir+"/records") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "images")
			prepare(dir)
			if _, err := Open(dir); detailOf(err) != v1alpha1.DetailProfileImageUntrusted {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := Open("relative"); err == nil {
		t.Error("a relative store was opened")
	}
}

func TestKeepRemovesTheRest(t *testing.T) {
	s, r := newStore(t), newRegistry(t)
	old := mustBake(t, s, r.profile(worker(t), layer(t, file("old", "1"))))
	spec := r.profile(worker(t))
	current := mustBake(t, s, spec)
	if err := s.Keep(t.Context(), current.Digest); err != nil {
		t.Fatal(err)
	}
	if err := current.Verify(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(old.Runtimes["node-22"].Path); !os.IsNotExist(err) {
		t.Errorf("the old root is still there: %v", err)
	}
	if _, err := s.Load(old.Digest); detailOf(err) != v1alpha1.DetailProfileImageMissing {
		t.Errorf("the old manifest: %v", err)
	}
	if err := s.Keep(t.Context(), old.Digest); err == nil {
		t.Error("kept a manifest that is not there, and removed everything else")
	}
	if again := mustBake(t, s, spec); again.Digest != current.Digest {
		t.Error("another digest after the clean-up")
	}
}

func TestNewDiskIsTheRunsAlone(t *testing.T) {
	s := newStore(t)
	m := mustBake(t, s, newRegistry(t).profile(worker(t)))
	path := filepath.Join(t.TempDir(), "disk.qcow2")
	if err := s.NewDisk(t.Context(), m, path, 70001); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("qemu-img", "info", "--output=json", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	var info struct {
		Format      string `json:"format"`
		VirtualSize int64  `json:"virtual-size"`
		Backing     string `json:"backing-filename"`
		BackingFmt  string `json:"backing-filename-format"`
	}
	if err := json.Unmarshal(out, &info); err != nil {
		t.Fatal(err)
	}
	if info.Format != "qcow2" || info.VirtualSize != 512<<20 || info.Backing != m.DiskBase.Path || info.BackingFmt != "raw" {
		t.Errorf("disk is %+v", info)
	}
	assertOwned(t, path, 70001, 0o600)
	if err := s.NewDisk(t.Context(), m, path, 70001); err == nil {
		t.Error("an existing disk was replaced")
	}
	planted, victim := filepath.Join(t.TempDir(), "planted"), filepath.Join(t.TempDir(), "victim")
	os.Symlink(victim, planted)
	if err := s.NewDisk(t.Context(), m, planted, 70001); err == nil {
		t.Error("a planted link was followed")
	}
	if _, err := os.Lstat(victim); !os.IsNotExist(err) {
		t.Errorf("the link's target: %v", err)
	}
	assertEmpty(t, s.path(stagingDir))
}

func assertOwned(t *testing.T, path string, uid uint32, mode os.FileMode) {
	t.Helper()
	out, err := exec.Command("stat", "-c", "%u %g %a", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(string(out)); got[0] != "70001" || got[1] != "70001" || got[2] != "600" {
		t.Errorf("%s is owned by %s with mode %s", path, got[0], got[2])
	}
}

func TestDiskBaseIsSparseCleanAndTheSameEachTime(t *testing.T) {
	dir := t.TempDir()
	digests := map[string]bool{}
	for _, name := range []string{"one", "two"} {
		path := filepath.Join(dir, name)
		if err := newDiskBase(t.Context(), path, 4<<30); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		digest, err := sparseDigest(file)
		if err != nil {
			t.Fatal(err)
		}
		digests[digest] = true
		out, _ := exec.Command("du", "-k", path).Output()
		t.Logf("4 GiB disk uses %s", strings.Fields(string(out))[0]+" KiB")
		if out, err := exec.Command("e2fsck", "-fn", path).CombinedOutput(); err != nil {
			t.Errorf("e2fsck: %s", out)
		}
	}
	if len(digests) != 1 {
		t.Errorf("digests %v", digests)
	}
}

func TestSparseDigestSeesContentNotHoles(t *testing.T) {
	dir := t.TempDir()
	digest := func(name string, write func(*os.File)) string {
		file, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		file.Truncate(1<<20 + 100)
		write(file)
		sum, err := sparseDigest(file)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	empty := digest("empty", func(*os.File) {})
	zeros := digest("zeros", func(f *os.File) { f.Write(make([]byte, 1<<20+100)) })
	if empty != zeros {
		t.Error("written zeros and a hole differ")
	}
	first := digest("first", func(f *os.File) { f.WriteAt([]byte{1}, 0) })
	moved := digest("moved", func(f *os.File) { f.WriteAt([]byte{1}, 8192) })
	last := digest("last", func(f *os.File) { f.WriteAt([]byte{1}, 1<<20+99) })
	longer := digest("longer", func(f *os.File) { f.Truncate(2 << 20) })
	seen := map[string]bool{empty: true, first: true, moved: true, last: true, longer: true}
	if len(seen) != 5 {
		t.Errorf("two of five different files have one digest: %v", seen)
	}
}
