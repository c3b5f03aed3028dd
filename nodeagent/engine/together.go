package engine

import (
	"context"
	"sync"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
	"github.com/ai-dossier/zt-operator/internal/junit"
)

// results are the tests that trusted trees reported, by Tree/command. Trees at work
// put them, a candidate waits for them.
type results struct {
	mu    sync.Mutex
	cases map[string][]junit.Case
	ready map[string]chan struct{}
}

func newResults() *results {
	return &results{cases: map[string][]junit.Case{}, ready: map[string]chan struct{}{}}
}

func (r *results) put(key string, cases []junit.Case) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cases[key] = cases
	r.close(key)
}

// end says that a tree reports nothing more.
func (r *results) end(tree v1alpha1.TreeName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, command := range []string{ecosystem.CommandSuite, ecosystem.CommandRegression} {
		r.close(string(tree) + "/" + command)
	}
}

// wait returns what the trusted tree reported, once it has; nothing if it ended
// without a report.
func (r *results) wait(ctx context.Context, key string) ([]junit.Case, error) {
	r.mu.Lock()
	ready := r.of(key)
	r.mu.Unlock()
	select {
	case <-ready:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cases[key], nil
}

func (r *results) close(key string) {
	select {
	case <-r.of(key):
	default:
		close(r.of(key))
	}
}

func (r *results) of(key string) chan struct{} {
	if r.ready[key] == nil {
		r.ready[key] = make(chan struct{})
	}
	return r.ready[key]
}
