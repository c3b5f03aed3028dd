package channel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// carry opens one connection to each side and copies until both ways have ended.
// opened is true once the guest has been reached.
func (c *Channel) carry() (opened bool, err error) {
	guest, err := c.dial(c.config.DialGuest)
	if err != nil {
		return false, fmt.Errorf("dial the guest: %w", err)
	}
	defer guest.Close()
	stopGuest := context.AfterFunc(c.ctx, func() { _ = guest.Close() })
	defer stopGuest()
	_ = guest.SetWriteDeadline(time.Now().Add(dialTimeout))
	if _, err := guest.Write(c.config.RelayKey); err != nil {
		return true, fmt.Errorf("open the relay: %w", err)
	}
	mirror, err := c.dial(c.config.DialMirror)
	if err != nil {
		return true, fmt.Errorf("dial the mirror: %w", err)
	}
	defer mirror.Close()
	stopMirror := context.AfterFunc(c.ctx, func() { _ = mirror.Close() })
	defer stopMirror()
	c.splice(guest, mirror)
	return true, nil
}

func (c *Channel) dial(dialer func(context.Context) (net.Conn, error)) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(c.ctx, dialTimeout)
	defer cancel()
	return dialer(ctx)
}

// splice copies both ways. The end of one way is passed on as a half-close; an
// error on one way ends the other.
func (c *Channel) splice(guest, mirror net.Conn) {
	idle := newIdleClock(c.config.IdleTimeout)
	done := make(chan struct{})
	go func() {
		defer close(done)
		oneWay(mirror, guest, &c.toMirror, idle)
	}()
	oneWay(guest, mirror, &c.toGuest, idle)
	<-done
}

func oneWay(to, from net.Conn, count *atomic.Int64, idle *idleClock) {
	err := copyUntilIdle(to, from, count, idle)
	if err != nil {
		_ = to.Close()
		_ = from.Close()
		return
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = to.Close()
}

// copyUntilIdle returns nil at the end of from.
func copyUntilIdle(to, from net.Conn, count *atomic.Int64, idle *idleClock) error {
	buffer := make([]byte, 32<<10)
	for {
		_ = from.SetReadDeadline(idle.deadline())
		n, err := from.Read(buffer)
		if n > 0 {
			idle.touch()
			_ = to.SetWriteDeadline(idle.deadline())
			written, writeErr := to.Write(buffer[:n])
			count.Add(int64(written))
			if writeErr != nil {
				return writeErr
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return nil
		case isTimeout(err) && !idle.expired():
			// The other way moved bytes since the deadline was set.
		default:
			return err
		}
	}
}

func isTimeout(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) && netErr.Timeout()
}

// idleClock knows when a byte last moved in either direction.
type idleClock struct {
	limit time.Duration
	last  atomic.Int64
}

func newIdleClock(limit time.Duration) *idleClock {
	clock := &idleClock{limit: limit}
	clock.touch()
	return clock
}

func (c *idleClock) touch() { c.last.Store(time.Now().UnixNano()) }

func (c *idleClock) deadline() time.Time { return time.Unix(0, c.last.Load()).Add(c.limit) }

func (c *idleClock) expired() bool { return !time.Now().Before(c.deadline()) }
