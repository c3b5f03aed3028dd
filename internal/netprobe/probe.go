package netprobe

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Ports of the server.
const (
	// OpenPort is admitted by the policies of both pods.
	OpenPort = 7491
	// EgressPort is admitted by the server's policy only: the client's stops it.
	EgressPort = 7492
	// IngressPort is admitted by the client's policy only: the server's stops it.
	IngressPort = 7493
)

// Exit statuses of the client.
const (
	// ExitEnforced: the open port answered, the two others did not.
	ExitEnforced = 0
	// ExitNotEnforced: a port answered that a policy denies.
	ExitNotEnforced = 3
	// ExitBroken: not even the open port answered.
	ExitBroken = 4
)

const (
	// dialTimeout is far above a round trip between two pods.
	dialTimeout = time.Second
	// looksInARow that show enforcement: one could be a moment of load.
	looksInARow = 3
	pause       = 100 * time.Millisecond
)

// Seen says which ports answered.
type Seen struct{ Open, Egress, Ingress bool }

// Enforced is true if exactly the admitted port answered.
func (s Seen) Enforced() bool { return s.Open && !s.Egress && !s.Ingress }

// String says what was seen, for people.
func (s Seen) String() string {
	return fmt.Sprintf("allowed connection: %s; denied by the client's egress policy: %s; denied by the server's ingress policy: %s",
		word(s.Open), word(s.Egress), word(s.Ingress))
}

// ExitStatus is what the client says of it.
func (s Seen) ExitStatus() int {
	switch {
	case s.Enforced():
		return ExitEnforced
	case s.Open:
		return ExitNotEnforced
	}
	return ExitBroken
}

func word(answered bool) string {
	if answered {
		return "answered"
	}
	return "no answer"
}

// Dialer connects to a port of the server.
type Dialer func(ctx context.Context, port int) (net.Conn, error)

// Target is one server that a client looks at.
type Target struct {
	// Name of its node, for people.
	Name string
	Dial Dialer
}

// WatchAll watches all targets at once. The exit status is the gravest of theirs; said
// has a line for each that is not as it should be.
func WatchAll(ctx context.Context, targets []Target) (status int, said string) {
	seen := make([]Seen, len(targets))
	var group sync.WaitGroup
	for i := range targets {
		group.Go(func() { seen[i] = Watch(ctx, targets[i].Dial) })
	}
	group.Wait()
	status = ExitEnforced
	var lines []string
	for i, s := range seen {
		switch s.ExitStatus() {
		case ExitEnforced:
			continue
		case ExitNotEnforced:
			status = ExitNotEnforced
		case ExitBroken:
			if status == ExitEnforced {
				status = ExitBroken
			}
		}
		lines = append(lines, "to node "+targets[i].Name+": "+s.String())
	}
	return status, strings.Join(lines, "\n")
}

// Watch looks until enforcement shows in several looks in a row, or the context
// ends: a plugin may take a moment to see new pods. It returns the last look.
func Watch(ctx context.Context, dial Dialer) Seen {
	var seen Seen
	for row := 0; ; {
		if seen = look(ctx, dial); seen.Enforced() {
			row++
		} else {
			row = 0
		}
		if row == looksInARow {
			return seen
		}
		select {
		case <-ctx.Done():
			// Fewer looks than it takes are no proof.
			if seen.Enforced() {
				seen.Open = false
			}
			return seen
		case <-time.After(pause):
		}
	}
}

func look(ctx context.Context, dial Dialer) (seen Seen) {
	done := make(chan struct{})
	ports := map[int]*bool{OpenPort: &seen.Open, EgressPort: &seen.Egress, IngressPort: &seen.Ingress}
	for port, answered := range ports {
		go func() {
			*answered = answers(context.WithoutCancel(ctx), dial, port)
			done <- struct{}{}
		}()
	}
	for range ports {
		<-done
	}
	return seen
}

// answers is true if the probe's own server is behind a port: a connection that
// something on the way accepts is none.
func answers(ctx context.Context, dial Dialer, port int) bool {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := dial(ctx, port)
	if err != nil {
		return false
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	got := make([]byte, len(banner(port)))
	_, err = io.ReadFull(conn, got)
	return err == nil && string(got) == banner(port)
}

func banner(port int) string { return "zt-netprobe " + strconv.Itoa(port) + "\n" }

// Serve answers on the three ports of a host, the open one last: if it answers, the
// others listen. It returns when the context ends.
func Serve(ctx context.Context, host string) error {
	for _, port := range []int{EgressPort, IngressPort, OpenPort} {
		listener, err := net.Listen("tcp4", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			return fmt.Errorf("listen for the probe: %w", err)
		}
		defer listener.Close()
		go accept(listener, banner(port))
	}
	<-ctx.Done()
	return nil
}

func accept(listener net.Listener, banner string) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		_ = conn.SetDeadline(time.Now().Add(dialTimeout))
		_, _ = io.WriteString(conn, banner)
		conn.Close()
	}
}
