package broker

import (
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

func TestDialsReachTheConnectorWhileACommandRuns(t *testing.T) {
	dials := make(chan int, 8)
	conn, g := connected(t, expect.Phase, func(n int) { dials <- n })
	go func() {
		id := g.request().ID
		g.send(brokerproto.Message{Dial: 1})
		g.send(brokerproto.Message{Dial: 64})
		g.send(brokerproto.Message{ID: id, Exec: &brokerproto.ExecResult{}})
	}()
	if _, err := conn.Exec(t.Context(), command("npm", "ci")); err != nil {
		t.Fatal(err)
	}
	if a, b := <-dials, <-dials; a != 1 || b != 64 {
		t.Errorf("got %d and %d", a, b)
	}
}

func TestTooManyDialsTaint(t *testing.T) {
	conn, g := connected(t, expect.Phase, func(int) {})
	for range 1000 {
		if g.writer.Write(brokerproto.Message{Dial: brokerproto.MaxRelayConnections}) != nil {
			break
		}
	}
	<-conn.Done()
	wantTaint(t, conn.Tainted())
}

func TestDialGateBoundsRateAndAmount(t *testing.T) {
	now := time.Unix(0, 0)
	gate := newDialGate(nil, func() time.Time { return now })
	if err := gate.admit(dialBurst); err != nil {
		t.Fatalf("a burst: %v", err)
	}
	now = now.Add(time.Second)
	if err := gate.admit(dialPerSecond); err != nil {
		t.Fatalf("a second later: %v", err)
	}
	if err := gate.admit(1); err == nil {
		t.Error("admitted above the rate")
	}
	gate = newDialGate(nil, func() time.Time { now = now.Add(time.Hour); return now })
	admitted := 0
	for gate.admit(dialBurst) == nil {
		admitted += dialBurst
	}
	if admitted != dialTotal {
		t.Errorf("admitted %d in all, want %d", admitted, dialTotal)
	}
}
