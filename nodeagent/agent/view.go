package agent

import (
	"context"
	"sync"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// view is the newest state of a run that this agent has seen.
type view struct {
	mu      sync.Mutex
	run     *v1alpha1.ZTRun
	changed chan struct{}
}

func newView(run *v1alpha1.ZTRun) *view {
	return &view{run: run.DeepCopy(), changed: make(chan struct{})}
}

func (v *view) set(run *v1alpha1.ZTRun) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.run = run.DeepCopy()
	close(v.changed)
	v.changed = make(chan struct{})
}

func (v *view) get() (*v1alpha1.ZTRun, <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.run, v.changed
}

// until waits for a state of the run that satisfies the condition.
func (v *view) until(ctx context.Context, condition func(*v1alpha1.ZTRun) bool) (*v1alpha1.ZTRun, error) {
	for {
		run, changed := v.get()
		if condition(run) {
			return run, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
