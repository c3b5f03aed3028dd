package broker

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

func TestAGuestThatDoesNotReadDoesNotHoldTheHost(t *testing.T) {
	conn, _ := connected(t, expect.Phase, nil)
	conn.fileLimit = 50 * time.Millisecond
	put := brokerproto.Put{Path: "a", Data: make([]byte, brokerproto.MaxFile)}
	if err := conn.Put(t.Context(), put); err == nil {
		t.Error("accepted")
	}
}

func TestACancelledRequestEndsTheConnectionWithoutATaint(t *testing.T) {
	conn, g := connected(t, expect.Phase, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		g.request()
		cancel()
	}()
	_, err := conn.Exec(ctx, command("sleep"))
	if !errors.Is(err, ErrClosed) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := conn.Exec(t.Context(), command("true")); !errors.Is(err, ErrClosed) {
		t.Errorf("then got %v", err)
	}
	if err := conn.Tainted(); err != nil {
		t.Errorf("tainted: %v", err)
	}
}

func TestOneRequestIsOnTheWireAtATime(t *testing.T) {
	conn, g := connected(t, expect.Phase, nil)
	go func() {
		for {
			request := g.request()
			if request.ID == 0 {
				return
			}
			_ = g.stream.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
			if early := g.request(); early.ID != 0 {
				t.Error("a second request was sent before the answer")
			}
			_ = g.stream.SetReadDeadline(time.Time{})
			g.send(brokerproto.Message{ID: request.ID, Exec: &brokerproto.ExecResult{}})
		}
	}()
	done := make(chan error)
	for range 8 {
		go func() {
			_, err := conn.Exec(t.Context(), command("true"))
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	conn.Close()
}

func TestALostGuestIsNotATaint(t *testing.T) {
	conn, g := connected(t, expect.Phase, nil)
	go func() {
		g.request()
		_, _ = g.stream.Write([]byte(`{"id":1,`))
		_ = g.stream.Close()
	}()
	if _, err := conn.Exec(t.Context(), command("true")); !errors.Is(err, ErrLost) {
		t.Errorf("got %v", err)
	}
	if err := conn.Tainted(); err != nil {
		t.Errorf("tainted: %v", err)
	}
}
