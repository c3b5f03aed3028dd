package gitbundle

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBundleCarriesTheCommitsAndTheirHistoryOnly(t *testing.T) {
	dir := t.TempDir()
	first, second := testRepo(t, dir)
	write(t, filepath.Join(dir, "secret.txt"), "later work")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "--quiet", "-m", "third")
	third := git(t, dir, "rev-parse", "HEAD")
	before := git(t, dir, "for-each-ref")

	repo, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	data, err := repo.Bundle(t.Context(), second, second)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "b")
	write(t, file, string(data))
	clone := t.TempDir()
	git(t, ".", "init", "--quiet", "--bare", clone)
	git(t, clone, "fetch", "--quiet", file, "+refs/*:refs/*")
	if got := git(t, clone, "rev-list", "--all"); got != second+"\n"+first {
		t.Errorf("history in the bundle = %q, want %s and %s", got, second, first)
	}
	if strings.Contains(git(t, clone, "cat-file", "--batch-all-objects", "--batch-check"), third) {
		t.Error("the bundle carries a commit that was not asked for")
	}
	if after := git(t, dir, "for-each-ref"); after != before {
		t.Errorf("the user's refs changed from %q to %q", before, after)
	}
	again, err := repo.Bundle(t.Context(), second, second)
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("a second bundle differs (%d and %d bytes, %v)", len(data), len(again), err)
	}
}

func TestBundleReadsARepositoryWhoseObjectsAreElsewhere(t *testing.T) {
	origin := t.TempDir()
	_, second := testRepo(t, origin)
	worktree := filepath.Join(t.TempDir(), `odd "name`)
	git(t, origin, "worktree", "add", "--quiet", "--detach", worktree)
	borrower := filepath.Join(t.TempDir(), `quote " and \ in it`)
	git(t, ".", "clone", "--quiet", "--shared", origin, borrower)

	for name, dir := range map[string]string{
		"a linked worktree":                           worktree,
		"a clone that borrows, in an odd folder name": borrower,
	} {
		t.Run(name, func(t *testing.T) {
			repo, err := Open(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			data, err := repo.Bundle(t.Context(), second)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(data, []byte("# v2 git bundle\n"+second+" ")) {
				t.Errorf("bundle starts with %q, want a v2 header without prerequisites", data[:min(len(data), 80)])
			}
		})
	}
}

func TestBundleLeavesNoScratchBehind(t *testing.T) {
	dir := t.TempDir()
	testRepo(t, dir)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	repo, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repo.Bundle(t.Context(), strings.Repeat("2", 40)); err == nil {
		t.Error("a commit that is not there was bundled")
	}
	if left, _ := os.ReadDir(tmp); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
