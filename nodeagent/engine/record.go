package engine

import (
	"sync"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// Record is an attempt's execution status while it grows. It is safe for
// concurrent use.
type Record struct {
	mu      sync.Mutex
	status  v1alpha1.ExecutionStatus
	changed chan struct{}
}

// NewRecord starts a record from a first status.
func NewRecord(status v1alpha1.ExecutionStatus) *Record {
	return &Record{status: status, changed: make(chan struct{}, 1)}
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

// activity says what is being done now, for people.
func (r *Record) activity(text string) {
	r.Update(func(s *v1alpha1.ExecutionStatus) { s.Activity = text })
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
