package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ai-dossier/zt-operator/internal/cli/gitbundle"
	"github.com/ai-dossier/zt-operator/internal/cli/submit"
)

// request is a fixture's question, as kubectl zt run would ask it.
func (b *bench) request(ctx context.Context, ecosystem, namespace string) (submit.Request, error) {
	dir := filepath.Join(b.repositories, ecosystem)
	repo, err := gitbundle.Open(ctx, dir)
	if err != nil {
		return submit.Request{}, fmt.Errorf("there is no repository of the %s fixture: %w; hack/bench.sh proof makes it", ecosystem, err)
	}
	r := submit.Request{
		Name: fmt.Sprintf("bench-%s-%s", ecosystem, time.Now().UTC().Format("150405")), Namespace: namespace, Profile: b.profile,
	}
	for tag, into := range map[string]*string{"base": &r.Base, "regression-test": &r.RegressionTest, "fix": &r.Candidate} {
		if *into, err = repo.Resolve(ctx, tag); err != nil {
			return r, fmt.Errorf("%s: %w", dir, err)
		}
	}
	if r.Targets, err = targets(ctx, dir); err != nil {
		return r, err
	}
	if r.Bundle, err = repo.Bundle(ctx, r.Base, r.RegressionTest, r.Candidate); err != nil {
		return r, fmt.Errorf("%s: %w", dir, err)
	}
	return r, nil
}

// targets are the files that the regression patch adds: its tests.
func targets(ctx context.Context, dir string) ([]string, error) {
	out, err := exec.CommandContext(ctx, "git", "-C", dir, "diff", "--name-only", "--diff-filter=A", "base", "regression-test").Output()
	if err != nil {
		return nil, fmt.Errorf("%s: listing what the regression patch adds: %w", dir, err)
	}
	files := strings.Fields(string(out))
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: the regression patch adds no file", dir)
	}
	return files, nil
}
