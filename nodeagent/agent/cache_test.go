package agent

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/internal/cacheaudit"
)

// auditor answers at the auditor's port of a loopback address of its own.
func auditor(t *testing.T, last byte, handler http.HandlerFunc) netip.Addr {
	t.Helper()
	address := netip.AddrFrom4([4]byte{127, 78, 0, last})
	listener, err := net.Listen("tcp4", fmt.Sprintf("%s:%d", address, cacheaudit.Port))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Close() })
	return address
}

func TestOnlyAWholeAnswerOfTheAuditorIsTaken(t *testing.T) {
	// A proxy of the environment would see, and could answer, the question.
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	const list = `{"version":1,"artifacts":[]}`
	write := func(w http.ResponseWriter, text string) { _, _ = w.Write([]byte(text)) }
	for i, tc := range []struct {
		name   string
		answer http.HandlerFunc
		says   string
	}{
		{"a list", func(w http.ResponseWriter, _ *http.Request) { write(w, list) }, ""},
		{"an error", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); write(w, list) }, "status 500"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		}, "redirects"},
		{"half a list", func(w http.ResponseWriter, _ *http.Request) { write(w, list[:10]) }, "EOF"},
		{"a broken promise", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "100"); write(w, list) }, "follows"},
		{"large headers", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("a", 32<<10))
			write(w, list)
		}, "exceeded"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			artifacts, err := ListCache(context.Background(), auditor(t, byte(i+1), tc.answer))
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("answered %v, %v; want %q", artifacts, err, tc.says)
			}
		})
	}
}

func TestAnAuditorThatDoesNotAnswerIsGivenUp(t *testing.T) {
	silent := auditor(t, 99, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := ListCache(ctx, silent); err == nil {
		t.Error("no error")
	}
	if _, err := ListCache(ctx, netip.AddrFrom4([4]byte{127, 78, 0, 100})); err == nil {
		t.Error("no error where nobody listens")
	}
}

func TestAMirrorMayFinishWhatItWrites(t *testing.T) {
	asked := 0
	address := auditor(t, 50, func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked < 3 {
			_, _ = w.Write([]byte(`{"version":1,"artifacts":[],"unfinished":1}`))
			return
		}
		_, _ = w.Write([]byte(`{"version":1,"artifacts":[{"path":"ms/ms-2.1.3.tgz","size":0,"sha256":"","sha512":""}]}`))
	})
	artifacts, err := ListCache(context.Background(), address)
	if err != nil || len(artifacts) != 1 || asked != 3 {
		t.Errorf("asked %d times: %v, %v", asked, artifacts, err)
	}
}
