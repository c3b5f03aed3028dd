package gitbundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/ai-dossier/zt-operator/internal/safetext"
)

// Repository is a local git repository.
type Repository struct {
	dir     string
	objects string
}

// Open finds the repository that dir lies in. Shallow clones and repositories of
// another object format than SHA-1 are refused: a bundle of them could not carry
// what the API asks for.
func Open(ctx context.Context, dir string) (*Repository, error) {
	r := &Repository{dir: dir}
	out, err := r.git(ctx, "rev-parse", "--show-object-format", "--is-shallow-repository",
		"--path-format=absolute", "--git-path", "objects")
	if err != nil {
		return nil, fmt.Errorf("%s is not a git repository that can be read: %w", dir, err)
	}
	fields := strings.SplitN(strings.TrimSuffix(out, "\n"), "\n", 3)
	if len(fields) != 3 {
		return nil, fmt.Errorf("git rev-parse answered %q, expected format, shallowness and a path", out)
	}
	if fields[0] != "sha1" {
		return nil, fmt.Errorf("%s stores objects as %s, expected sha1", dir, fields[0])
	}
	if fields[1] != "false" {
		return nil, fmt.Errorf("%s is a shallow clone and lacks history that a bundle needs; run: git -C %s fetch --unshallow", dir, dir)
	}
	r.objects = fields[2]
	return r, nil
}

// Resolve returns the full id of the commit that rev names.
func (r *Repository) Resolve(ctx context.Context, rev string) (string, error) {
	out, err := r.git(ctx, "rev-parse", "--verify", "--end-of-options", rev+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("%q names no commit in %s: %w", rev, r.dir, err)
	}
	return strings.TrimSpace(out), nil
}

// HasFile reports whether the commit's tree has a file at path.
func (r *Repository) HasFile(ctx context.Context, commit, path string) (bool, error) {
	out, err := r.git(ctx, "ls-tree", "--full-tree", "-z", commit, "--", ":(literal)"+path)
	if err != nil {
		return false, fmt.Errorf("look for %s in %s: %w", path, commit, err)
	}
	return strings.Contains(out, " blob "), nil
}

// git runs git in the repository. Whatever the repository's own configuration
// says, no hook, monitor or pager of it is started.
func (r *Repository) git(ctx context.Context, args ...string) (string, error) {
	return run(ctx, r.dir, nil, args...)
}

func run(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	options := []string{"-C", dir, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"}
	cmd := exec.CommandContext(ctx, "git", append(options, args...)...)
	// A replaced object would pack other bytes than its id says.
	cmd.Env = append(append(os.Environ(), "GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C"), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	switch exit := (*exec.ExitError)(nil); {
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("git is not installed or not in PATH: %w", err)
	case errors.As(err, &exit):
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, safetext.Line(strings.TrimSpace(stderr.String()), 512))
	case err != nil:
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return stdout.String(), nil
}
