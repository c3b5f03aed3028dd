package broker

import (
	"errors"
	"time"
)

// Bounds on what a guest may demand. A package manager opens some dozens of
// connections at once and thousands in all; each costs the host two sockets.
const (
	dialBurst     = 1024
	dialPerSecond = 512
	dialTotal     = 1 << 17
)

// dialGate admits a guest's demands for relay connections, a token each.
type dialGate struct {
	onDial func(int)
	now    func() time.Time
	tokens float64
	last   time.Time
	total  int
}

func newDialGate(onDial func(int), now func() time.Time) *dialGate {
	return &dialGate{onDial: onDial, now: now, tokens: dialBurst, last: now()}
}

// admit passes n on, or says which bound the guest broke. One goroutine calls it.
func (g *dialGate) admit(n int) error {
	now := g.now()
	g.tokens = min(dialBurst, g.tokens+now.Sub(g.last).Seconds()*dialPerSecond)
	g.last = now
	g.tokens -= float64(n)
	g.total += n
	switch {
	case g.tokens < 0:
		return errors.New("relay connections demanded too fast")
	case g.total > dialTotal:
		return errors.New("too many relay connections demanded")
	}
	if g.onDial != nil {
		g.onDial(n)
	}
	return nil
}
