package source

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/testneeds"
)

const testUID = 71234

// repo is a bare git repository that tests write objects to directly.
type repo struct {
	t   testing.TB
	dir string
}

func newRepo(t testing.TB) *repo {
	t.Helper()
	testneeds.Root(t)
	r := &repo{t, t.TempDir()}
	r.git("", "init", "--quiet", "--bare", ".")
	return r
}

// git runs a command in the repository with text as its input.
func (r *repo) git(stdin string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org", "GIT_AUTHOR_DATE=@1700000000 +0000", "GIT_COMMITTER_DATE=@1700000000 +0000")
	cmd.Stdin = strings.NewReader(stdin)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("git %q: %v: %s", args, err, complaint.String())
	}
	return strings.TrimSuffix(string(out), "\n")
}

func (r *repo) blob(content string) string {
	return r.git(content, "hash-object", "-w", "--stdin")
}

// raw writes an object without any check.
func (r *repo) raw(kind, content string) string {
	return r.git(content, "hash-object", "-w", "-t", kind, "--literally", "--stdin")
}

// treeEntry is one entry of a raw tree object.
type treeEntry struct{ mode, name, id string }

func (r *repo) rawTree(entries ...treeEntry) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%s %s\x00", e.mode, e.name)
		for i := 0; i < len(e.id); i += 2 {
			var octet byte
			fmt.Sscanf(e.id[i:i+2], "%02x", &octet)
			b.WriteByte(octet)
		}
	}
	return r.raw("tree", b.String())
}

// tree writes a tree of files by path; a content that starts with "-> " is a link,
// with "+x " an executable.
func (r *repo) tree(files map[string]string) string {
	r.t.Helper()
	index := filepath.Join(r.t.TempDir(), "index")
	var info strings.Builder
	for path, content := range files {
		mode := "100644"
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			mode, content = "120000", target
		} else if rest, ok := strings.CutPrefix(content, "+x "); ok {
			mode, content = "100755", rest
		}
		fmt.Fprintf(&info, "%s %s\t%s\x00", mode, r.blob(content), path)
	}
	r.t.Setenv("GIT_INDEX_FILE", index)
	r.git(info.String(), "update-index", "-z", "--add", "--index-info")
	return r.git("", "write-tree")
}

func (r *repo) commit(tree string, parents ...string) string {
	args := []string{"commit-tree", tree, "-m", "message"}
	for _, parent := range parents {
		args = append(args, "-p", parent)
	}
	return r.git("", args...)
}

// bundle packs everything the commits reach.
func (r *repo) bundle(commits ...string) []byte {
	r.t.Helper()
	objects := r.git("", append([]string{"rev-list", "--objects", "--no-object-names"}, commits...)...)
	return r.bundleOf(strings.Split(objects, "\n"), commits...)
}

// bundleOf packs exactly these objects.
func (r *repo) bundleOf(objects []string, heads ...string) []byte {
	r.t.Helper()
	cmd := exec.Command("git", "pack-objects", "--stdout", "-q")
	cmd.Dir = r.dir
	cmd.Stdin = strings.NewReader(strings.Join(objects, "\n") + "\n")
	pack, err := cmd.Output()
	if err != nil {
		r.t.Fatal(err)
	}
	var b bytes.Buffer
	b.WriteString("# v2 git bundle\n")
	for i, head := range heads {
		fmt.Fprintf(&b, "%s refs/heads/b%d\n", head, i)
	}
	b.WriteString("\n")
	b.Write(pack)
	return b.Bytes()
}

// three commits a small, good history: base, regression test, candidate.
func (r *repo) three(extra map[string]string) (base, regression, candidate string) {
	files := map[string]string{
		"package.json": `{"name":"x"}`, "package-lock.json": `{"lockfileVersion":3}`, "src/index.js": "bug", "run": "+x #!/bin/sh\n",
	}
	for path, content := range extra {
		files[path] = content
	}
	base = r.commit(r.tree(files))
	files["test/bug.test.js"] = "test"
	regression = r.commit(r.tree(files), base)
	files["src/index.js"] = "fix"
	candidate = r.commit(r.tree(files), regression)
	return base, regression, candidate
}

func proofOf(base, regression, candidate string) v1alpha1.Proof {
	return v1alpha1.Proof{
		Base:           v1alpha1.TreeRef{Commit: base},
		RegressionTest: v1alpha1.TreeRef{Commit: regression},
		Candidate:      v1alpha1.TreeRef{Commit: candidate},
		Targets:        []v1alpha1.TargetPath{"test/bug.test.js"},
	}
}

// read reads a bundle in a fresh folder and afterwards asserts, whatever came of
// it, that closing leaves neither a file nor a process.
func read(t testing.TB, r *Reader, bundle []byte, proof v1alpha1.Proof) (*Source, error) {
	t.Helper()
	dir := t.TempDir()
	s, err := r.Read(context.Background(), bundle, proof, dir, testUID)
	t.Cleanup(func() {
		if s != nil {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		assertNothingLeft(t, dir)
	})
	if err != nil {
		assertNothingLeft(t, dir)
	}
	return s, err
}

func assertNothingLeft(t testing.TB, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Error(err)
	}
	for _, entry := range entries {
		t.Errorf("left behind: %s", entry.Name())
	}
	statuses, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, status := range statuses {
		content, err := os.ReadFile(status)
		if err == nil && strings.Contains(string(content), fmt.Sprintf("Uid:\t%d\t", testUID)) {
			t.Errorf("left behind: process %s", status)
		}
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	if strings.Contains(string(mounts), dir) {
		t.Error("left behind: a mount")
	}
}
