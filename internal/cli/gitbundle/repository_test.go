package gitbundle

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// testRepo is a repository with two commits: a.txt, then b/c.txt.
func testRepo(t *testing.T, dir string) (first, second string) {
	t.Helper()
	git(t, ".", "init", "--quiet", "--initial-branch=main", dir)
	write(t, filepath.Join(dir, "a.txt"), "one")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "--quiet", "-m", "first")
	write(t, filepath.Join(dir, "b/c.txt"), "two")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "--quiet", "-m", "second")
	return git(t, dir, "rev-parse", "HEAD~1"), git(t, dir, "rev-parse", "HEAD")
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefusesWhatCannotBeBundled(t *testing.T) {
	origin := t.TempDir()
	testRepo(t, origin)
	shallow := filepath.Join(t.TempDir(), "shallow")
	git(t, ".", "clone", "--quiet", "--depth=1", "file://"+origin, shallow)
	sha256 := t.TempDir()
	git(t, ".", "init", "--quiet", "--object-format=sha256", sha256)

	for name, tc := range map[string]struct{ dir, want string }{
		"a folder outside any repository":        {t.TempDir(), "not a git repository"},
		"a folder that does not exist":           {filepath.Join(origin, "none"), "not a git repository"},
		"a shallow clone":                        {shallow, "fetch --unshallow"},
		"a repository with SHA-256 object names": {sha256, "expected sha1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), tc.dir)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("Open: %v, want %q", err, tc.want)
			}
		})
	}
}

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	first, second := testRepo(t, dir)
	git(t, dir, "tag", "-a", "-m", "annotated", "v1", first)
	repo, err := Open(t.Context(), filepath.Join(dir, "b"))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ rev, want string }{
		"a branch is its commit":                {"main", second},
		"an expression is its commit":           {"HEAD~1", first},
		"an annotated tag is the tagged commit": {"v1", first},
		"a short id is the full id":             {second[:8], second},
		"an unknown name is refused":            {"nonesuch", ""},
		"a blob is refused":                     {"HEAD:a.txt", ""},
		"an option is not an option":            {"--all", ""},
		"a full id without object is refused":   {strings.Repeat("1", 40), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := repo.Resolve(t.Context(), tc.rev)
			if got != tc.want || (err == nil) != (tc.want != "") {
				t.Fatalf("Resolve(%q) = %q, %v; want %q", tc.rev, got, err, tc.want)
			}
		})
	}
}

func TestHasFile(t *testing.T) {
	dir := t.TempDir()
	first, second := testRepo(t, dir)
	repo, err := Open(t.Context(), filepath.Join(dir, "b"))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		commit, path string
		want         bool
	}{
		"a file of the commit, from the root":     {second, "b/c.txt", true},
		"a file that only a later commit has":     {first, "b/c.txt", false},
		"a folder is no file":                     {second, "b", false},
		"a pattern does not match like one":       {second, "b/*.txt", false},
		"a path relative to the folder is not it": {second, "c.txt", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := repo.HasFile(t.Context(), tc.commit, tc.path)
			if err != nil || got != tc.want {
				t.Fatalf("HasFile = %v, %v; want %v", got, err, tc.want)
			}
		})
	}
}
