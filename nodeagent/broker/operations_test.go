package broker

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

func TestExecReturnsTheResult(t *testing.T) {
	conn, g := connected(t, expect.Phase, nil)
	want := brokerproto.ExecResult{ExitCode: 3, Stdout: []byte("out"), StdoutBytes: 3}
	go func() {
		for range 3 {
			g.send(brokerproto.Message{ID: g.request().ID, Exec: &want})
		}
	}()
	for range 3 {
		got, err := conn.Exec(t.Context(), command("true"))
		if err != nil || got.ExitCode != 3 || string(got.Stdout) != "out" {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
}

func TestPutAndGet(t *testing.T) {
	conn, g := connected(t, expect.Phase, nil)
	file := bytes.Repeat([]byte{0, 255}, brokerproto.MaxFile/2)
	go func() {
		put := g.request()
		g.send(brokerproto.Message{ID: put.ID})
		g.send(brokerproto.Message{ID: g.request().ID, Data: put.Put.Data})
		g.send(brokerproto.Message{ID: g.request().ID, Error: brokerproto.ErrorNotFound})
		g.send(brokerproto.Message{ID: g.request().ID})
	}()
	if err := conn.Put(t.Context(), brokerproto.Put{Path: "a/b", Mode: 0o644, Data: file}); err != nil {
		t.Fatal(err)
	}
	if got, err := conn.Get(t.Context(), brokerproto.Get{Path: "a/b"}); err != nil || !bytes.Equal(got, file) {
		t.Fatalf("got %d bytes, %v", len(got), err)
	}
	var answered *GuestError
	if _, err := conn.Get(t.Context(), brokerproto.Get{Path: "none"}); !errors.As(err, &answered) || answered.Slug != "not_found" {
		t.Fatalf("got %v", err)
	}
	if err := conn.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestRequestsTheHostRefusesNeverReachTheGuest(t *testing.T) {
	change := func(f func(*brokerproto.Exec)) brokerproto.Exec {
		e := command("true")
		f(&e)
		return e
	}
	cases := map[string]brokerproto.Exec{
		"no command":                    command(),
		"too many arguments":            command(make([]string, 65)...),
		"an argument too long":          command(strings.Repeat("x", brokerproto.MaxArgBytes)),
		"an argument with NUL":          command("a\x00b"),
		"a secret in an argument":       command("ghp_" + strings.Repeat("a", 36)),
		"a loader variable":             change(func(e *brokerproto.Exec) { e.Env = map[string]string{"LD_PRELOAD": "x"} }),
		"a name that is not one":        change(func(e *brokerproto.Exec) { e.Env = map[string]string{"A=B": "x"} }),
		"a secret in a variable":        change(func(e *brokerproto.Exec) { e.Env = map[string]string{"A": "npm_" + strings.Repeat("a", 36)} }),
		"the proxy in verification":     change(func(e *brokerproto.Exec) { e.Network = brokerproto.NetworkPackageProxy }),
		"an unknown network":            change(func(e *brokerproto.Exec) { e.Network = "host" }),
		"no time limit":                 change(func(e *brokerproto.Exec) { e.TimeoutMillis = 0 }),
		"a time limit over six hours":   change(func(e *brokerproto.Exec) { e.TimeoutMillis = 6*3600*1000 + 1 }),
		"a time limit that overflows":   change(func(e *brokerproto.Exec) { e.TimeoutMillis = 1 << 62 }),
		"a negative time limit":         change(func(e *brokerproto.Exec) { e.TimeoutMillis = -1 }),
		"text that is not UTF-8":        command("a\xff"),
		"an empty command":              command(""),
		"a variable without a name":     change(func(e *brokerproto.Exec) { e.Env = map[string]string{"": "x"} }),
		"a loader variable with a name": change(func(e *brokerproto.Exec) { e.Env = map[string]string{"LD_LIBRARY_PATH": ""} }),
	}
	conn, g := connected(t, brokerproto.PhaseVerification, nil)
	for name, exec := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := conn.Exec(t.Context(), exec)
			var refused *RequestError
			if !errors.As(err, &refused) {
				t.Errorf("got %v", err)
			}
		})
	}
	for name, path := range map[string]string{
		"an absolute path": "/etc/passwd", "a path that climbs": "../x", "a path that climbs inside": "a/../../x",
		"an unclean path": "a//b", "the workspace itself": ".", "no path": "", "a path with NUL": "a\x00", "a path too long": strings.Repeat("a", 1025),
	} {
		t.Run("get of "+name, func(t *testing.T) {
			var refused *RequestError
			if _, err := conn.Get(t.Context(), brokerproto.Get{Path: path}); !errors.As(err, &refused) {
				t.Errorf("get: got %v", err)
			}
			if err := conn.Put(t.Context(), brokerproto.Put{Path: path}); !errors.As(err, &refused) {
				t.Errorf("put: got %v", err)
			}
		})
	}
	t.Run("a file over 1 MiB", func(t *testing.T) {
		var refused *RequestError
		if err := conn.Put(t.Context(), brokerproto.Put{Path: "a", Data: make([]byte, brokerproto.MaxFile+1)}); !errors.As(err, &refused) {
			t.Errorf("got %v", err)
		}
	})
	// The first request the guest sees is the one that is valid.
	go func() {
		request := g.request()
		if request.ID != 1 || request.Exec == nil || request.Exec.Argv[0] != "valid" {
			t.Errorf("the guest saw %+v", request)
		}
		g.send(brokerproto.Message{ID: request.ID, Exec: &brokerproto.ExecResult{}})
	}()
	if _, err := conn.Exec(t.Context(), command("valid")); err != nil {
		t.Errorf("the connection is not usable: %v", err)
	}
	if err := conn.Tainted(); err != nil {
		t.Errorf("tainted: %v", err)
	}
}

func TestShutdownAcceptsASilentEnd(t *testing.T) {
	conn, g := connected(t, expect.Phase, nil)
	go func() {
		g.request()
		_ = g.stream.Close()
	}()
	if err := conn.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
