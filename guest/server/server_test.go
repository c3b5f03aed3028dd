package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/guest/server"
	"github.com/ai-dossier/zt-operator/guest/worker"
	"github.com/ai-dossier/zt-operator/guest/workspace"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

// fake fails as told, else answers with what it was asked for.
type fake struct{ err error }

func (f fake) Run(e *brokerproto.Exec) (*brokerproto.ExecResult, error) {
	out := []byte(e.Argv[0])
	return &brokerproto.ExecResult{Stdout: out, StdoutBytes: int64(len(out))}, f.err
}

func (f fake) Read(name string, _ int) ([]byte, error) { return []byte(name), f.err }

func (f fake) Write(string, []byte, uint32, int) error { return f.err }

// serve runs a server over the given lines and returns what it wrote.
func serve(t *testing.T, fail error, lines ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	s := &server.Server{Phase: brokerproto.PhaseVerification, Commands: fake{fail}, Files: fake{fail}, Log: func(error) {}}
	in := brokerproto.NewReader(strings.NewReader(strings.Join(lines, "\n") + "\n"))
	err := s.Serve(in, brokerproto.NewWriter(&out))
	return out.String(), err
}

const (
	execLine     = `{"id":1,"op":"exec","exec":{"argv":["true"],"network":"none","timeoutMillis":1}}`
	proxyLine    = `{"id":1,"op":"exec","exec":{"argv":["true"],"network":"package_proxy","timeoutMillis":1}}`
	getLine      = `{"id":2,"op":"get","get":{"path":"a"}}`
	shutdownLine = `{"id":3,"op":"shutdown"}`
)

func TestServeAnswersInOrderAndEndsWithShutdown(t *testing.T) {
	out, err := serve(t, nil, execLine, getLine, shutdownLine, execLine)
	want := `{"id":1,"exec":{"exitCode":0,"stdout":"dHJ1ZQ==","stdoutBytes":4}}` + "\n" + `{"id":2,"data":"YQ=="}` + "\n" + `{"id":3}` + "\n"
	if err != nil || out != want {
		t.Fatalf("wrote %s, %v", out, err)
	}
}

func TestDeclineAnswersOneRequestWithItsSlug(t *testing.T) {
	var out bytes.Buffer
	in := brokerproto.NewReader(strings.NewReader(execLine + "\n" + getLine + "\n"))
	if err := server.Decline(in, brokerproto.NewWriter(&out), brokerproto.ErrorBootPrefix+"disks"); err != nil {
		t.Fatal(err)
	}
	if want := `{"id":1,"error":"boot_disks"}` + "\n"; out.String() != want {
		t.Errorf("wrote %s, want %s", out.String(), want)
	}
}

func TestDeclineEndsWithTheHost(t *testing.T) {
	in := brokerproto.NewReader(strings.NewReader(""))
	if err := server.Decline(in, brokerproto.NewWriter(io.Discard), "boot_disks"); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}

func TestErrorsBecomeSlugs(t *testing.T) {
	cases := map[string]struct {
		line string
		err  error
		slug string
	}{
		"a command that is not there":       {execLine, worker.ErrNotFound, "not_found"},
		"a container that fails":            {execLine, errors.Join(worker.ErrContainer, io.EOF), "container_failed"},
		"a file that is not there":          {getLine, workspace.ErrNotFound, "not_found"},
		"a file that is none":               {getLine, workspace.ErrNotRegular, "not_regular"},
		"a file over the limit":             {getLine, workspace.ErrTooLarge, "too_large"},
		"any other error":                   {getLine, fmt.Errorf("disk: %w", io.ErrNoProgress), "io_error"},
		"the package proxy in verification": {proxyLine, nil, "network_refused"},
		"a path out of the workspace":       {`{"id":2,"op":"get","get":{"path":"../a"}}`, nil, "bad_request"},
		"an unknown operation":              {`{"id":2,"op":"mount"}`, nil, "bad_request"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			out, err := serve(t, c.err, c.line, shutdownLine)
			if err != nil || !strings.Contains(out, `"error":"`+c.slug+`"`) {
				t.Fatalf("wrote %s, %v; want %s", out, err, c.slug)
			}
		})
	}
}

func TestServeEndsWithAHostThatBreaksTheProtocolOrLeaves(t *testing.T) {
	for _, line := range []string{"", "{}x", `{"id":1,"op":"shutdown","more":1}`} {
		if _, err := serve(t, nil, line); err == nil {
			t.Errorf("%q: no error", line)
		}
	}
	out, err := serve(t, nil, execLine)
	if err == nil || !strings.HasPrefix(out, `{"id":1,`) {
		t.Errorf("a host that leaves: %s, %v", out, err)
	}
}
