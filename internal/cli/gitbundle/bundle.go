package gitbundle

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Bundle packs the commits with their full history. The bundle names each commit
// by a ref refs/zt/<n> and has no prerequisites.
func (r *Repository) Bundle(ctx context.Context, commits ...string) ([]byte, error) {
	scratch, err := os.MkdirTemp("", "zt-bundle-")
	if err != nil {
		return nil, fmt.Errorf("make a scratch folder for the bundle: %w", err)
	}
	defer os.RemoveAll(scratch)

	// git bundles refs, not ids. The refs are made in an empty repository that
	// borrows the objects, so that the user's own stays as it is.
	bare := filepath.Join(scratch, "repo.git")
	if _, err := run(ctx, scratch, nil, "init", "--quiet", "--bare", "--template=", "--object-format=sha1", bare); err != nil {
		return nil, err
	}
	alternates := filepath.Join(bare, "objects", "info", "alternates")
	if err := os.MkdirAll(filepath.Dir(alternates), 0o700); err != nil {
		return nil, fmt.Errorf("prepare the bundle: %w", err)
	}
	if err := os.WriteFile(alternates, []byte(quoteAlternate(r.objects)+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("prepare the bundle: %w", err)
	}
	for i, commit := range commits {
		if _, err := run(ctx, bare, nil, "update-ref", fmt.Sprintf("refs/zt/%d", i), commit); err != nil {
			return nil, err
		}
	}
	file := filepath.Join(scratch, "bundle")
	// One thread packs the same objects into the same bytes each time.
	if _, err := run(ctx, bare, nil, "-c", "pack.threads=1", "bundle", "create", "--quiet", file, "--all"); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the bundle back: %w", err)
	}
	return data, nil
}

// quoteAlternate quotes a path as git expects it in info/alternates: a line that
// starts with a quote is C-quoted, any other is taken as it is.
func quoteAlternate(path string) string {
	if !strings.ContainsAny(path, "\"\\\n") {
		return path
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}
