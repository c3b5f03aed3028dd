package relay

import (
	"sync"
	"time"
)

// A worker may open and close connections as fast as it likes, and each costs the
// host a dial; the host destroys a VM that demands too many. Honest clients stay
// far below these bounds.
const (
	paceBurst    = 256
	paceInterval = 5 * time.Millisecond
)

// pace spreads demands for host connections out.
type pace struct {
	mu   sync.Mutex
	next time.Time
}

// delay reserves the next place and returns how long to wait for it.
func (p *pace) delay(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if earliest := now.Add(-paceBurst * paceInterval); p.next.Before(earliest) {
		p.next = earliest
	}
	p.next = p.next.Add(paceInterval)
	return max(0, p.next.Sub(now))
}
