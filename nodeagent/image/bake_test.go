package image

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/nodeagent/erofs/erofstest"
)

func worker(t *testing.T) []byte {
	return layer(t, folder("usr/"), folder("usr/bin/"), withMode(file("usr/bin/node", "node"), 0o4755), symlink("bin", "usr/bin"),
		hardlink("usr/bin/nodejs", "usr/bin/node"), file("etc/os-release", "ID=test"))
}

func mustBake(t *testing.T, s *Store, spec v1alpha1.ZTProfileSpec) *Manifest {
	t.Helper()
	m, err := s.Bake(t.Context(), spec, func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func detailOf(err error) v1alpha1.Detail {
	var named *Error
	if errors.As(err, &named) {
		return named.Detail
	}
	return ""
}

func TestBakeIsTheSameBytesOnEveryNode(t *testing.T) {
	r := newRegistry(t)
	spec := r.profile(worker(t))
	one, two := mustBake(t, newStore(t), spec), mustBake(t, newStore(t), spec)
	if one.Digest != two.Digest {
		t.Errorf("two stores baked %+v and %+v", one, two)
	}
	for _, m := range []*Manifest{one, two} {
		if err := m.Verify(); err != nil {
			t.Error(err)
		}
	}
	other := mustBake(t, newStore(t), r.profile(worker(t), layer(t, file("x", "y"))))
	if other.Digest == one.Digest {
		t.Error("another runtime has the same manifest digest")
	}
}

func TestBakedRootHoldsWhatTheImageHas(t *testing.T) {
	m := mustBake(t, newStore(t), newRegistry(t).profile(worker(t)))
	mounted := erofstest.Mount(t, m.Runtimes["node-22"].Path)
	for _, path := range []string{"workspace", "opt/ztfc", "ztfc/report", "tmp", "proc", "dev", "sys"} {
		if info, err := os.Stat(filepath.Join(mounted, path)); err != nil || !info.IsDir() {
			t.Errorf("mount point %s: %v", path, err)
		}
	}
	node, err := os.Stat(filepath.Join(mounted, "bin/nodejs"))
	if err != nil {
		t.Fatal(err)
	}
	if node.Mode() != 0o755 || node.Size() != 4 {
		t.Errorf("node has mode %v and %d bytes", node.Mode(), node.Size())
	}
	if nlink := node.Sys().(*syscall.Stat_t).Nlink; nlink != 2 {
		t.Errorf("node has %d names, want 2", nlink)
	}
	if node.ModTime().Unix() != 0 {
		t.Errorf("modified %v, want the epoch", node.ModTime())
	}
}

func TestManifestNamesEverything(t *testing.T) {
	s := newStore(t)
	m := mustBake(t, s, newRegistry(t).profile(worker(t)))
	kernel, err := os.ReadFile(m.Kernel.Path)
	if err != nil || string(kernel) != "kernel" {
		t.Errorf("kernel is %q, %v", kernel, err)
	}
	loaded, err := s.Load(m.Digest)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(m)
	got, _ := json.Marshal(loaded)
	if string(got) != string(want) || loaded.Kernel.Path != m.Kernel.Path || loaded.Runtimes["node-22"].Path != m.Runtimes["node-22"].Path {
		t.Errorf("loaded %s, want %s", got, want)
	}
	if err := loaded.Verify(); err != nil {
		t.Error(err)
	}
	if _, err := s.Load("sha256:" + strings.Repeat("0", 64)); detailOf(err) != v1alpha1.DetailProfileImageMissing {
		t.Errorf("an unknown manifest: %v", err)
	}
	if _, err := s.Load("sha256:../../etc/passwd"); detailOf(err) != v1alpha1.DetailProfileImageMissing {
		t.Errorf("a manifest that is a path: %v", err)
	}
}

func TestBakeReusesWhatTheStoreHas(t *testing.T) {
	s, r := newStore(t), newRegistry(t)
	spec := r.profile(worker(t))
	first := mustBake(t, s, spec)
	served := r.blobs.Load()
	again, err := Open(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	second := mustBake(t, again, spec)
	if first.Digest != second.Digest || r.blobs.Load() != served {
		t.Errorf("baked again: %d more blobs pulled", r.blobs.Load()-served)
	}
}

func TestBakesAtOnceShareOneResult(t *testing.T) {
	r := newRegistry(t)
	spec := r.profile(worker(t))
	dir := filepath.Join(t.TempDir(), "images")
	digests := make([]string, 4)
	var group sync.WaitGroup
	for i := range digests {
		group.Go(func() {
			s, err := Open(dir)
			if err != nil {
				t.Error(err)
				return
			}
			m, err := s.Bake(t.Context(), spec, nil)
			if err != nil {
				t.Error(err)
				return
			}
			digests[i] = m.Digest
		})
	}
	group.Wait()
	for _, digest := range digests {
		if digest == "" || digest != digests[0] {
			t.Errorf("digests differ: %q", digests)
		}
	}
	// One guest layer and one worker layer, and each image's config at most.
	if n := r.blobs.Load(); n > 4 {
		t.Errorf("%d blobs pulled by four bakes of two images", n)
	}
}

func TestBakeRefusals(t *testing.T) {
	r := newRegistry(t)
	good := r.profile(worker(t))
	nowhere := r.host + "/guest@sha256:" + strings.Repeat("0", 64)
	for name, tc := range map[string]struct {
		change func(*v1alpha1.ZTProfileSpec)
		want   v1alpha1.Detail
	}{
		"a digest the registry does not have": {
			func(p *v1alpha1.ZTProfileSpec) { p.Guest.Image = nowhere }, v1alpha1.DetailProfileImageMissing},
		"a registry that does not answer": {
			func(p *v1alpha1.ZTProfileSpec) { p.Guest.Image = "127.0.0.1:1" + nowhere[len(r.host):] }, v1alpha1.DetailProfileImageMissing},
		"an image that is not pinned": {
			func(p *v1alpha1.ZTProfileSpec) { p.Guest.Image = r.host + "/guest:latest" }, v1alpha1.DetailProfileImageMissing},
		"a guest image without a kernel": {
			func(p *v1alpha1.ZTProfileSpec) { p.Guest.Image = p.Runtimes[0].Image }, v1alpha1.DetailProfileImageUnpackable},
		"a guest kernel that is a link": {
			func(p *v1alpha1.ZTProfileSpec) {
				p.Guest.Image = r.push("linked", layer(t, symlink(guestKernel, "/etc/passwd"), file(guestInitrd, "x")))
			}, v1alpha1.DetailProfileImageUnpackable},
		"a hostile layer": {
			func(p *v1alpha1.ZTProfileSpec) { p.Runtimes[0].Image = r.push("hostile", layer(t, file("../x", "x"))) },
			v1alpha1.DetailProfileImageUnpackable},
		"a mount point that is a link": {
			func(p *v1alpha1.ZTProfileSpec) {
				p.Runtimes[0].Image = r.push("mountpoint", layer(t, symlink("workspace", "/etc")))
			}, v1alpha1.DetailProfileImageUnpackable},
		"a disk of no size": {
			func(p *v1alpha1.ZTProfileSpec) { p.VM.DiskMiB = 0 }, v1alpha1.DetailBakeFailed},
	} {
		t.Run(name, func(t *testing.T) {
			s, spec := newStore(t), *good.DeepCopy()
			tc.change(&spec)
			_, err := s.Bake(t.Context(), spec, nil)
			if got := detailOf(err); got != tc.want {
				t.Errorf("got %q (%v), want %q", got, err, tc.want)
			}
			assertEmpty(t, s.path(stagingDir))
			assertEmpty(t, s.path(manifestsDir))
		})
	}
}

func TestCorruptedLayersAreNotUsed(t *testing.T) {
	s, r := newStore(t), newRegistry(t)
	spec := r.profile(worker(t))
	r.corrupt.Store(true)
	_, err := s.Bake(t.Context(), spec, nil)
	if got := detailOf(err); got != v1alpha1.DetailProfileImageMismatch {
		t.Errorf("got %q (%v)", got, err)
	}
	assertEmpty(t, s.path(blobsDir))
	assertEmpty(t, s.path(stagingDir))
}

func TestAnInterruptedBakeLeavesNothingForTheNext(t *testing.T) {
	s, r := newStore(t), newRegistry(t)
	spec := r.profile(worker(t))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Bake(ctx, spec, func(string) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	left := s.path(stagingDir, "runtime-left")
	if err := os.MkdirAll(filepath.Join(left, "spool"), 0o700); err != nil {
		t.Fatal(err)
	}
	mustBake(t, s, spec)
	assertEmpty(t, s.path(stagingDir))
}

func assertEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		t.Errorf("left behind: %s", filepath.Join(dir, entry.Name()))
	}
}

func TestOnlyWeCanChangeTheStore(t *testing.T) {
	s := newStore(t)
	mustBake(t, s, newRegistry(t).profile(worker(t)))
	err := filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o022 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for _, dir := range []string{s.dir, s.path(blobsDir)} {
		if info, _ := os.Stat(dir); info.Mode().Perm() != searchable {
			t.Errorf("%s has mode %v: QEMU's user cannot pass, or can list", dir, info.Mode())
		}
	}
}
