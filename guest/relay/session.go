package relay

import (
	"net"
	"sync"
	"time"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

// session is the connections of one command.
type session struct {
	relay   *Relay
	running sync.WaitGroup
	done    chan struct{}

	mu    sync.Mutex
	ended bool
	open  map[net.Conn]struct{}
}

func (s *session) accept(listener net.Listener) {
	defer s.running.Done()
	slots := make(chan struct{}, brokerproto.MaxRelayConnections)
	for {
		// With every slot taken the next connection waits in the listener's queue.
		select {
		case slots <- struct{}{}:
		case <-s.done:
			return
		}
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		s.running.Add(1)
		go func() {
			defer s.running.Done()
			s.carry(conn)
			<-slots
		}()
	}
}

// carry asks the host for a connection and joins it with the worker's.
func (s *session) carry(worker net.Conn) {
	defer worker.Close()
	if !s.track(worker) {
		return
	}
	defer s.untrack(worker)
	if !s.pause(s.relay.pace.delay(time.Now())) {
		return
	}
	host := s.pair()
	if host == nil {
		return
	}
	defer host.Close()
	if s.track(host) {
		splice(worker, host)
		s.untrack(host)
	}
}

// pair asks the host for a connection until one comes: a dial can get lost on the
// way into the guest. It returns nil if the host is gone or the session ended.
func (s *session) pair() net.Conn {
	patience, again := time.NewTimer(pairWait), time.NewTicker(redialWait)
	defer patience.Stop()
	defer again.Stop()
	for {
		s.relay.dial()
		select {
		case host := <-s.relay.keyed:
			return host
		case <-again.C:
		case <-s.done:
			return nil
		case <-patience.C:
			return nil
		}
	}
}

// pause waits; false if the session ended meanwhile.
func (s *session) pause(wait time.Duration) bool {
	select {
	case <-time.After(wait):
		return true
	case <-s.done:
		return false
	}
}

// track makes a connection one that end closes; false if it has already run.
func (s *session) track(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.open[conn] = struct{}{}
	return true
}

func (s *session) untrack(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, conn)
}

// end closes every connection.
func (s *session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	close(s.done)
	for conn := range s.open {
		_ = conn.Close()
	}
}
