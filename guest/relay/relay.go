package relay

import (
	"crypto/subtle"
	"io"
	"net"
	"sync"
	"time"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

const (
	// keyWait bounds the wait for a host connection's key.
	keyWait = 10 * time.Second
	// pairWait bounds a worker connection's wait for the host. Under TCG a dial
	// takes tens of milliseconds; a host that takes longer than this is gone.
	pairWait = 60 * time.Second
	// redialWait is when a worker connection's demand is repeated.
	redialWait = 10 * time.Second
	// maxUnkeyed bounds host connections that have not shown their key.
	maxUnkeyed = 2 * brokerproto.MaxRelayConnections
)

// Relay pairs connections. Its zero value is not usable.
type Relay struct {
	key  []byte
	peer net.IP
	dial func()

	pace    pace
	unkeyed chan struct{}
	keyed   chan net.Conn
}

// New returns a relay that admits host connections from peer that open with key,
// and calls dial for each one that it needs.
func New(key []byte, peer net.IP, dial func()) *Relay {
	return &Relay{
		key: key, peer: peer, dial: dial,
		unkeyed: make(chan struct{}, maxUnkeyed),
		keyed:   make(chan net.Conn),
	}
}

// Listen accepts host connections until the listener is closed.
func (r *Relay) Listen(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		select {
		case r.unkeyed <- struct{}{}:
			go func() {
				r.admit(conn)
				<-r.unkeyed
			}()
		default:
			conn.Close()
		}
	}
}

// admit hands a host connection that shows the key to a waiting worker connection.
func (r *Relay) admit(conn net.Conn) {
	if !r.genuine(conn) {
		conn.Close()
		return
	}
	patience := time.NewTimer(keyWait)
	defer patience.Stop()
	select {
	case r.keyed <- conn:
	case <-patience.C:
		// The worker connection it was for has gone.
		conn.Close()
	}
}

func (r *Relay) genuine(conn net.Conn) bool {
	address, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok || !address.IP.Equal(r.peer) {
		return false
	}
	key := make([]byte, len(r.key))
	_ = conn.SetReadDeadline(time.Now().Add(keyWait))
	if _, err := io.ReadFull(conn, key); err != nil {
		return false
	}
	return subtle.ConstantTimeCompare(key, r.key) == 1 && conn.SetReadDeadline(time.Time{}) == nil
}

// Serve accepts worker connections from listener. The function it returns ends all
// of them and returns when they have ended.
func (r *Relay) Serve(listener net.Listener) (stop func()) {
	s := &session{relay: r, open: map[net.Conn]struct{}{}, done: make(chan struct{})}
	s.running.Add(1)
	go s.accept(listener)
	return sync.OnceFunc(func() {
		_ = listener.Close()
		s.end()
		s.running.Wait()
	})
}
