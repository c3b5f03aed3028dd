package channel

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Defaults of a Config's zero values, and what the guest's demands may wait for.
const (
	defaultMax         = 64
	defaultIdleTimeout = 5 * time.Minute
	dialTimeout        = 30 * time.Second
	closeTimeout       = 5 * time.Second
)

// Config of a Channel. The dialers have one destination each and are called from
// many goroutines.
type Config struct {
	// DialGuest connects to the guest's forward, DialMirror to the run's mirror.
	DialGuest, DialMirror func(context.Context) (net.Conn, error)
	// RelayKey opens every connection to the guest.
	RelayKey []byte
	// Max bounds the connections at once, and the demands that wait for one to
	// end; 0 means 64.
	Max int
	// IdleTimeout ends a connection on which no byte moved either way for that
	// long, or that one side stopped reading; 0 means 5 minutes.
	IdleTimeout time.Duration
}

// Stats counts what a Channel carried.
type Stats struct {
	// Connections that were opened to the guest.
	Connections int
	// Failed counts connections that ended because the guest or the mirror could
	// not be reached.
	Failed int
	// Refused counts demands dropped because too many were waiting.
	Refused int
	// ToMirrorBytes and ToGuestBytes were written to each side, the key excluded.
	ToMirrorBytes, ToGuestBytes int64
}

// Channel is the connector of one provisioning boot.
type Channel struct {
	config Config
	ctx    context.Context
	cancel context.CancelFunc
	wait   sync.WaitGroup

	toMirror, toGuest atomic.Int64

	mu      sync.Mutex
	closed  bool
	active  int
	waiting int
	stats   Stats
}

// New returns a Channel that does nothing until Request.
func New(config Config) *Channel {
	if config.Max <= 0 {
		config.Max = defaultMax
	}
	if config.IdleTimeout <= 0 {
		config.IdleTimeout = defaultIdleTimeout
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Channel{config: config, ctx: ctx, cancel: cancel}
}

// Request opens n more connections. It does not block: what exceeds Max waits for
// a connection to end, and what exceeds Max waiting demands is dropped. After
// Close it does nothing.
func (c *Channel) Request(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ; n > 0 && !c.closed; n-- {
		switch {
		case c.active < c.config.Max:
			c.startLocked()
		case c.waiting < c.config.Max:
			c.waiting++
		default:
			c.stats.Refused += n
			return
		}
	}
}

func (c *Channel) startLocked() {
	c.active++
	c.wait.Add(1)
	go func() {
		defer c.wait.Done()
		opened, err := c.carry()
		c.finish(opened, err)
	}()
}

// finish counts an ended connection and gives its place to a waiting demand.
func (c *Channel) finish(opened bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active--
	if opened {
		c.stats.Connections++
	}
	if err != nil && !c.closed {
		c.stats.Failed++
	}
	if c.waiting > 0 && !c.closed {
		c.waiting--
		c.startLocked()
	}
}

// Close ends every connection, waits for them at most 5 seconds, and returns what
// was carried. It may be called more than once.
func (c *Channel) Close() Stats {
	c.mu.Lock()
	c.closed = true
	c.waiting = 0
	c.mu.Unlock()
	c.cancel()
	c.waitBounded()
	return c.Stats()
}

func (c *Channel) waitBounded() {
	done := make(chan struct{})
	go func() {
		c.wait.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(closeTimeout):
	}
}

// Stats returns what was carried so far; connections count when they end.
func (c *Channel) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	stats := c.stats
	stats.ToMirrorBytes = c.toMirror.Load()
	stats.ToGuestBytes = c.toGuest.Load()
	return stats
}
