package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/verdict"
)

// errDecided is the cause that ends the VMs of trees no verdict needs any more.
var errDecided = errors.New("another tree decided")

// execution is a tree whose VM is at work; err is there once ended is closed.
type execution struct {
	tree  v1alpha1.TreeName
	ended chan struct{}
	err   error
}

// Execute runs the trees, each in a fresh VM, until the evidence is final. A nil
// error means that the record says all there is to say; an error means that the
// attempt ended without full evidence (see OutcomeOf).
//
// A profile may let several trees run at once. They start in order, and what they end
// with is read in order too: the answer is the one that trees in turn would give.
func (e *Engine) Execute(ctx context.Context, a *Attempt) error {
	a.Record.Update(func(s *v1alpha1.ExecutionStatus) { s.State = v1alpha1.ExecutionRunning })
	a.results = newResults()
	ctx, cancel := context.WithCancelCause(ctx)
	var running []*execution
	defer func() {
		cancel(errDecided)
		for _, rest := range running {
			<-rest.ended
		}
	}()

	for next := 0; next < len(TreeOrder) || len(running) > 0; {
		for ; next < len(TreeOrder) && len(running) < a.parallel(); next++ {
			started, err := e.start(ctx, a, TreeOrder[next])
			if err != nil {
				return err
			}
			running = append(running, started)
		}
		first := running[0]
		running = running[1:]
		<-first.ended
		if first.err != nil {
			return fmt.Errorf("tree %s: %w", first.tree, first.err)
		}
		if _, final := verdict.Judge(a.Record.Snapshot(), a.Proof); final {
			return nil
		}
	}
	return nil
}

func (e *Engine) start(ctx context.Context, a *Attempt, tree v1alpha1.TreeName) (*execution, error) {
	m, err := newMachine(e, a, tree)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", tree, err)
	}
	started := &execution{tree: tree, ended: make(chan struct{})}
	go func() {
		defer close(started.ended)
		started.err = m.execute(ctx)
		a.results.end(tree)
	}()
	return started, nil
}

// parallel is how many trees run at once.
func (a *Attempt) parallel() int { return max(1, int(a.Profile.ParallelTrees)) }
