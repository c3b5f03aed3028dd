package netprobe

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// serve runs the server on a loopback address of its own.
func serve(t *testing.T, host string) Dialer {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, host) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	dial := func(ctx context.Context, port int) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp4", net.JoinHostPort(host, strconv.Itoa(port)))
	}
	for !answers(ctx, dial, OpenPort) {
		time.Sleep(time.Millisecond)
	}
	return dial
}

func TestTheClientTellsEnforcementFromItsAbsence(t *testing.T) {
	server := serve(t, "127.77.0.1")
	refuse := func(denied ...int) Dialer {
		return func(ctx context.Context, port int) (net.Conn, error) {
			for _, d := range denied {
				if port == d {
					return nil, errors.New("refused")
				}
			}
			return server(ctx, port)
		}
	}
	for name, tc := range map[string]struct {
		dial Dialer
		exit int
	}{
		"both policies are enforced":       {refuse(EgressPort, IngressPort), ExitEnforced},
		"no policy is enforced":            {server, ExitNotEnforced},
		"only ingress is enforced":         {refuse(IngressPort), ExitNotEnforced},
		"only egress is enforced":          {refuse(EgressPort), ExitNotEnforced},
		"nothing gets through":             {refuse(OpenPort, EgressPort, IngressPort), ExitBroken},
		"only denied connections work":     {refuse(OpenPort), ExitBroken},
		"something else accepts the ports": {pretend, ExitBroken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			defer cancel()
			if seen := Watch(ctx, tc.dial); seen.ExitStatus() != tc.exit {
				t.Errorf("%s: exit %d, want %d", seen, seen.ExitStatus(), tc.exit)
			}
		})
	}
}

// pretend accepts every connection and says nothing of the probe's.
func pretend(context.Context, int) (net.Conn, error) {
	client, other := net.Pipe()
	go func() {
		_, _ = other.Write([]byte("HTTP/1.1 200 OK\r\n\r\nhello there"))
		other.Close()
	}()
	return client, nil
}

func TestEnforcementThatComesLateIsWaitedFor(t *testing.T) {
	server := serve(t, "127.77.0.2")
	late := time.Now().Add(300 * time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	seen := Watch(ctx, func(ctx context.Context, port int) (net.Conn, error) {
		if port != OpenPort && time.Now().After(late) {
			return nil, errors.New("refused")
		}
		return server(ctx, port)
	})
	if !seen.Enforced() {
		t.Errorf("%s", seen)
	}
}

func TestOneMomentOfSilenceIsNoProof(t *testing.T) {
	server := serve(t, "127.77.0.3")
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	looks := map[int]int{}
	lock := make(chan struct{}, 1)
	seen := Watch(ctx, func(ctx context.Context, port int) (net.Conn, error) {
		lock <- struct{}{}
		looks[port]++
		n := looks[port]
		<-lock
		if port != OpenPort && n%looksInARow != 0 {
			return nil, errors.New("lost")
		}
		return server(ctx, port)
	})
	if seen.ExitStatus() == ExitEnforced {
		t.Errorf("two silent looks in a row were taken for enforcement: %s", seen)
	}
}

func TestTheGravestOfSeveralPairsCounts(t *testing.T) {
	server := serve(t, "127.77.0.4")
	denying := func(denied ...int) Dialer {
		return func(ctx context.Context, port int) (net.Conn, error) {
			if slices.Contains(denied, port) {
				return nil, errors.New("refused")
			}
			return server(ctx, port)
		}
	}
	good, open, broken := denying(EgressPort, IngressPort), denying(IngressPort), denying(OpenPort, EgressPort, IngressPort)
	for name, tc := range map[string]struct {
		dialers []Dialer
		status  int
		says    string
	}{
		"all enforce":                         {[]Dialer{good, good}, ExitEnforced, ""},
		"the second does not":                 {[]Dialer{good, open}, ExitNotEnforced, "to node n1: "},
		"the first does not":                  {[]Dialer{open, good}, ExitNotEnforced, "to node n0: "},
		"one is broken":                       {[]Dialer{broken, good}, ExitBroken, "to node n0: "},
		"one is broken, and one does not":     {[]Dialer{broken, open}, ExitNotEnforced, "to node n1: "},
		"one does not, and another is broken": {[]Dialer{open, broken}, ExitNotEnforced, "to node n0: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			var targets []Target
			for i, dial := range tc.dialers {
				targets = append(targets, Target{Name: "n" + strconv.Itoa(i), Dial: dial})
			}
			if status, said := WatchAll(ctx, targets); status != tc.status || !strings.Contains(said, tc.says) || (tc.says == "") != (said == "") {
				t.Errorf("%d %q, want %d %q", status, said, tc.status, tc.says)
			}
		})
	}
}
