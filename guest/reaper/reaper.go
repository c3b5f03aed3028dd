package reaper

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Reaper waits for all children of this process.
type Reaper struct {
	mu      sync.Mutex
	started map[int]chan syscall.WaitStatus
}

// Start begins to reap, for the life of the process.
func Start() *Reaper {
	r := &Reaper{started: map[int]chan syscall.WaitStatus{}}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGCHLD)
	go func() {
		for range signals {
			r.reap()
		}
	}()
	return r
}

// Spawn starts a process and returns its id and a channel that yields its end.
func (r *Reaper) Spawn(path string, argv []string, attr *syscall.ProcAttr) (int, <-chan syscall.WaitStatus, error) {
	// The lock covers the start, so that a short-lived child is known before it is
	// reaped.
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return 0, nil, err
	}
	ended := make(chan syscall.WaitStatus, 1)
	r.started[pid] = ended
	return pid, ended, nil
}

// reap collects every child that has ended; one signal may stand for many.
func (r *Reaper) reap() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if ended, ours := r.started[pid]; ours {
			delete(r.started, pid)
			ended <- status
		}
	}
}
