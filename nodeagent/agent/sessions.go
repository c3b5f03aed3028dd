package agent

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/nodeagent/engine"
)

// maxSessions bounds the attempts on one node; the vm pods' requests bind long
// before it does.
const maxSessions = 256

// Sessions holds the running sessions, one a run. It is safe for concurrent use.
type Sessions struct {
	host *Host
	log  logr.Logger

	mu    sync.Mutex
	live  map[types.NamespacedName]*session
	slots [maxSessions]bool
	wait  sync.WaitGroup
}

// NewSessions returns an empty set of sessions on a host.
func NewSessions(host *Host, log logr.Logger) *Sessions {
	return &Sessions{host: host, log: log, live: map[types.NamespacedName]*session{}}
}

func keyOf(run *v1alpha1.ZTRun) types.NamespacedName {
	return types.NamespacedName{Namespace: run.Namespace, Name: run.Name}
}

// Has reports whether a session of the run is live.
func (s *Sessions) Has(key types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[key] != nil
}

// Update shows the newest state of a run to the session of its attempt. It is
// false if there is none; a session of an older attempt is stopped.
func (s *Sessions) Update(run *v1alpha1.ZTRun) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	live := s.live[keyOf(run)]
	if live == nil {
		return false
	}
	if live.uid != run.UID || live.attempt != run.Status.Attempt {
		live.cancel(engine.ErrInterrupted)
		return false
	}
	live.view.set(run)
	return true
}

// Stop cancels the session of a run, if there is one; it cleans up on its own.
func (s *Sessions) Stop(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if live := s.live[key]; live != nil {
		live.cancel(engine.ErrInterrupted)
	}
}

// Start begins a session for the run's attempt. It does nothing while an older
// session of the run still cleans up; the next event starts it.
func (s *Sessions) Start(run *v1alpha1.ZTRun) {
	s.begin(run, (*session).execute)
}

// Abandon records that an attempt was interrupted and cleans up what is left of it.
func (s *Sessions) Abandon(run *v1alpha1.ZTRun) {
	s.begin(run, func(*session, context.Context) error {
		return fmt.Errorf("the node agent was restarted during the attempt: %w", engine.ErrInterrupted)
	})
}

// Drain cancels every session and waits until all have cleaned up.
func (s *Sessions) Drain() {
	s.mu.Lock()
	for _, live := range s.live {
		live.cancel(engine.ErrInterrupted)
	}
	s.mu.Unlock()
	s.wait.Wait()
}

func (s *Sessions) begin(run *v1alpha1.ZTRun, work func(*session, context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := keyOf(run)
	slot := s.freeSlot()
	if s.live[key] != nil || slot < 0 {
		return
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	session := newSession(s.host, s.log.WithValues("run", key.String(), "attempt", run.Status.Attempt), run, slot, cancel)
	s.live[key], s.slots[slot] = session, true
	s.wait.Go(func() {
		defer cancel(nil)
		session.run(ctx, work)
		s.end(key, slot)
	})
}

func (s *Sessions) end(key types.NamespacedName, slot int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, key)
	s.slots[slot] = false
}

func (s *Sessions) freeSlot() int {
	for slot, used := range s.slots {
		if !used {
			return slot
		}
	}
	return -1
}
