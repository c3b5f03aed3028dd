package engine

import (
	"strings"
	"sync"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/safetext"
)

// Record is an attempt's execution status while it grows. It is safe for
// concurrent use.
type Record struct {
	mu      sync.Mutex
	status  v1alpha1.ExecutionStatus
	doing   map[v1alpha1.TreeName]string
	changed chan struct{}
}

// NewRecord starts a record from a first status.
func NewRecord(status v1alpha1.ExecutionStatus) *Record {
	return &Record{status: status, doing: map[v1alpha1.TreeName]string{}, changed: make(chan struct{}, 1)}
}

// Update changes the record and wakes whoever publishes it.
func (r *Record) Update(change func(*v1alpha1.ExecutionStatus)) {
	r.mu.Lock()
	change(&r.status)
	r.mu.Unlock()
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// Snapshot returns a copy of the record as it is now.
func (r *Record) Snapshot() *v1alpha1.ExecutionStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status.DeepCopy()
}

// Changed receives after updates; several may share one value.
func (r *Record) Changed() <-chan struct{} { return r.changed }

// maxActivity is the status field's bound, in bytes.
const maxActivity = 512

// activity says what a tree's VM does now, for people; nothing once it is gone.
func (r *Record) activity(tree v1alpha1.TreeName, text string) {
	r.Update(func(s *v1alpha1.ExecutionStatus) {
		r.doing[tree] = text
		var all []string
		for _, name := range TreeOrder {
			if r.doing[name] != "" {
				all = append(all, string(name)+": "+r.doing[name])
			}
		}
		s.Activity = safetext.Line(strings.Join(all, "; "), maxActivity)
	})
}

// tree changes the record of one tree, which must exist.
func (r *Record) tree(name v1alpha1.TreeName, change func(*v1alpha1.TreeStatus)) {
	r.Update(func(s *v1alpha1.ExecutionStatus) {
		for i := range s.Trees {
			if s.Trees[i].Name == name {
				change(&s.Trees[i])
			}
		}
	})
}
