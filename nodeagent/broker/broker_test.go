package broker

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

var expect = Expect{Scope: brokerproto.ScopeContainer, Phase: brokerproto.PhaseProvisioning, Nonce: "0123456789abcdef"}

func welcome(phase brokerproto.Phase) brokerproto.Welcome {
	w := brokerproto.Welcome{
		UnixNanos: 1, Seed: make([]byte, brokerproto.SeedBytes),
		Worker: brokerproto.WorkerLimits{PIDs: 1, MemoryMiB: 1, TmpMiB: 1, CPUs: 1},
	}
	if phase == brokerproto.PhaseProvisioning {
		w.RelayKey = make([]byte, brokerproto.RelayKeyBytes)
	}
	return w
}

func truthful() brokerproto.Hello {
	return brokerproto.Hello{Protocol: brokerproto.Protocol, Scope: expect.Scope, Phase: expect.Phase, Nonce: expect.Nonce}
}

// listening makes a listener in a folder of its own.
func listening(t *testing.T) (*Listener, string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "b") // t.TempDir is too long for a socket.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "b.sock")
	listener, err := Listen(path, uint32(os.Geteuid()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(listener.Close)
	return listener, path
}

// guest is the other end, spoken by hand.
type guest struct {
	t      *testing.T
	stream net.Conn
	reader *brokerproto.Reader
	writer *brokerproto.Writer
}

func (g *guest) send(message any) {
	g.t.Helper()
	if err := g.writer.Write(message); err != nil {
		g.t.Error(err)
	}
}

func (g *guest) request() brokerproto.Request {
	var request brokerproto.Request
	if err := g.reader.Read(&request); err != nil && !errors.Is(err, net.ErrClosed) {
		g.t.Logf("guest read: %v", err)
	}
	return request
}

func dialed(t *testing.T, path string) *guest {
	t.Helper()
	stream, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	return &guest{t: t, stream: stream, reader: brokerproto.NewReader(stream), writer: brokerproto.NewWriter(stream)}
}

// connected goes through hello and welcome.
func connected(t *testing.T, phase brokerproto.Phase, onDial func(int)) (*Conn, *guest) {
	t.Helper()
	listener, path := listening(t)
	g := dialed(t, path)
	hello := truthful()
	hello.Phase = phase
	g.send(hello)
	want := expect
	want.Phase = phase
	conn, err := listener.Accept(t.Context(), want, welcome(phase), onDial)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	var got brokerproto.Welcome
	if err := g.reader.Read(&got); err != nil {
		t.Fatal(err)
	}
	return conn, g
}

func command(argv ...string) brokerproto.Exec {
	return brokerproto.Exec{Argv: argv, Network: brokerproto.NetworkNone, TimeoutMillis: 1000}
}

func wantTaint(t *testing.T, err error) {
	t.Helper()
	var taint *TaintError
	if !errors.As(err, &taint) {
		t.Fatalf("got %v, want a taint", err)
	}
}

func TestListenRefuses(t *testing.T) {
	uid := uint32(os.Geteuid())
	private := func(t *testing.T) string {
		dir, err := os.MkdirTemp("", "b")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		return dir
	}
	cases := map[string]func(t *testing.T) (string, uint32){
		"a folder others can enter": func(t *testing.T) (string, uint32) {
			dir := private(t)
			_ = os.Chmod(dir, 0o755)
			return filepath.Join(dir, "s"), uid
		},
		"another's folder": func(t *testing.T) (string, uint32) { return filepath.Join(private(t), "s"), uid + 1 },
		"a link to a private folder": func(t *testing.T) (string, uint32) {
			dir := private(t)
			link := dir + ".link"
			_ = os.Symlink(dir, link)
			t.Cleanup(func() { _ = os.Remove(link) })
			return filepath.Join(link, "s"), uid
		},
		"a name that is a dangling link": func(t *testing.T) (string, uint32) {
			path := filepath.Join(private(t), "s")
			_ = os.Symlink("/tmp/zt-none", path)
			return path, uid
		},
		"a name that is taken": func(t *testing.T) (string, uint32) {
			path := filepath.Join(private(t), "s")
			_ = os.WriteFile(path, nil, 0o600)
			return path, uid
		},
		"a folder that is missing": func(t *testing.T) (string, uint32) { return "/zt-none/s", uid },
	}
	for name, place := range cases {
		t.Run(name, func(t *testing.T) {
			path, uid := place(t)
			if listener, err := Listen(path, uid); err == nil {
				listener.Close()
				t.Error("accepted")
			}
		})
	}
}

func TestListenNamesAPathThatIsTooLong(t *testing.T) {
	_, err := Listen("/"+strings.Repeat("x", 107), 0)
	var long *PathTooLongError
	if !errors.As(err, &long) || long.Length != 108 || long.Max != 107 {
		t.Errorf("got %v", err)
	}
}

func TestAcceptTaintsAHelloThat(t *testing.T) {
	cases := map[string]string{
		"has another protocol":  `{"protocol":"zt-broker-v2","scope":"container","phase":"provisioning","nonce":"0123456789abcdef"}` + "\n",
		"has another scope":     `{"protocol":"zt-broker-v1","scope":"vm-root","phase":"provisioning","nonce":"0123456789abcdef"}` + "\n",
		"has another phase":     `{"protocol":"zt-broker-v1","scope":"container","phase":"verification","nonce":"0123456789abcdef"}` + "\n",
		"has an earlier nonce":  `{"protocol":"zt-broker-v1","scope":"container","phase":"provisioning","nonce":"0123456789abcdee"}` + "\n",
		"has a further member":  `{"protocol":"zt-broker-v1","scope":"container","phase":"provisioning","nonce":"0123456789abcdef","x":1}` + "\n",
		"is not JSON":           "hello\n",
		"is longer than a line": strings.Repeat("x", brokerproto.MaxFrame+64<<10),
	}
	for name, hello := range cases {
		t.Run(name, func(t *testing.T) {
			listener, path := listening(t)
			g := dialed(t, path)
			go func() { _, _ = g.stream.Write([]byte(hello)) }()
			_, err := listener.Accept(t.Context(), expect, welcome(expect.Phase), nil)
			wantTaint(t, err)
			if strings.Contains(err.Error(), "vm-root") || strings.Contains(err.Error(), "abcdee") {
				t.Errorf("the guest's text is in %v", err)
			}
		})
	}
}

func TestAcceptEndsWithItsContext(t *testing.T) {
	cases := map[string]string{
		"when nothing connects":       "",
		"when the guest is silent":    "silent",
		"when the guest stops midway": `{"protocol":`,
	}
	for name, sent := range cases {
		t.Run(name, func(t *testing.T) {
			listener, path := listening(t)
			if sent != "" {
				g := dialed(t, path)
				switch sent {
				case "silent":
				default:
					_, _ = g.stream.Write([]byte(sent))
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err := listener.Accept(ctx, expect, welcome(expect.Phase), nil)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAcceptReportsAVMThatDiesBeforeItsHello(t *testing.T) {
	listener, path := listening(t)
	g := dialed(t, path)
	_ = g.stream.Close()
	_, err := listener.Accept(t.Context(), expect, welcome(expect.Phase), nil)
	if !errors.Is(err, ErrLost) {
		t.Errorf("got %v", err)
	}
}

func TestAcceptRefusesAWelcomeThatDoesNotFitThePhase(t *testing.T) {
	listener, _ := listening(t)
	_, err := listener.Accept(t.Context(), expect, welcome(brokerproto.PhaseVerification), nil)
	var refused *RequestError
	if !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
}

func TestASecondConnectionIsRefused(t *testing.T) {
	listener, path := listening(t)
	g := dialed(t, path)
	g.send(truthful())
	conn, err := listener.Accept(t.Context(), expect, welcome(expect.Phase), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if second, err := net.Dial("unix", path); err == nil {
		_ = second.Close()
		t.Error("a second connection was accepted")
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
}

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

func TestAnswersThatBreakTheProtocolTaint(t *testing.T) {
	cases := map[string]string{
		"another id":                       `{"id":2,"exec":{"exitCode":0}}`,
		"no result":                        `{"id":1}`,
		"another operation's result":       `{"id":1,"data":"QQ=="}`,
		"an unknown member":                `{"id":1,"exec":{"exitCode":0},"x":1}`,
		"a doubled member":                 `{"id":1,"id":1,"exec":{"exitCode":0}}`,
		"an exit code out of range":        `{"id":1,"exec":{"exitCode":256}}`,
		"base64 that is not canonical":     `{"id":1,"exec":{"exitCode":0,"stdout":"QR==","stdoutBytes":1}}`,
		"a stream longer than was written": `{"id":1,"exec":{"exitCode":0,"stdout":"QUE=","stdoutBytes":1}}`,
		"a negative size":                  `{"id":1,"exec":{"exitCode":0,"stdoutBytes":-1}}`,
		"a report nobody asked for":        `{"id":1,"exec":{"exitCode":0,"report":{"data":"QQ=="}}}`,
		"an error that is a sentence":      `{"id":1,"error":"something went wrong"}`,
		"an error beside a result":         `{"id":1,"error":"x","exec":{"exitCode":0}}`,
		"a hello in place of an answer":    `{"protocol":"zt-broker-v1"}`,
		"an array":                         `[]`,
		"null":                             `null`,
		"white space":                      ` {"id":1,"exec":{"exitCode":0}}`,
		"an empty line":                    ``,
		"deep nesting":                     strings.Repeat("[", 100000),
		"a dial for none":                  `{"id":0,"dial":0}`,
		"a dial for too many":              `{"id":0,"dial":65}`,
		"a negative dial":                  `{"id":0,"dial":-1}`,
		"a dial beside an answer":          `{"id":1,"exec":{"exitCode":0},"dial":1}`,
		"a line without an end":            strings.Repeat("x", brokerproto.MaxFrame+64<<10),
	}
	for name, answer := range cases {
		t.Run(name, func(t *testing.T) {
			conn, g := connected(t, expect.Phase, func(int) { t.Error("dialed") })
			go func() {
				g.request()
				_, _ = g.stream.Write([]byte(answer + "\n"))
			}()
			_, err := conn.Exec(t.Context(), command("true"))
			wantTaint(t, err)
			wantTaint(t, conn.Tainted())
			_, err = conn.Exec(t.Context(), command("again"))
			wantTaint(t, err)
		})
	}
}

func TestTheGuestTaintsItselfBetweenRequestsBy(t *testing.T) {
	cases := map[string]struct {
		phase brokerproto.Phase
		text  string
	}{
		"an answer without a request": {brokerproto.PhaseProvisioning, `{"id":1}`},
		"a dial in verification":      {brokerproto.PhaseVerification, `{"id":0,"dial":1}`},
		"noise":                       {brokerproto.PhaseVerification, "noise"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			conn, g := connected(t, c.phase, func(int) { t.Error("dialed") })
			_, _ = g.stream.Write([]byte(c.text + "\n"))
			<-conn.Done()
			wantTaint(t, conn.Tainted())
		})
	}
}

func TestASecondAnswerTaints(t *testing.T) {
	conn, g := connected(t, expect.Phase, nil)
	go func() {
		answer := brokerproto.Message{ID: g.request().ID, Exec: &brokerproto.ExecResult{}}
		g.send(answer)
		g.send(answer)
	}()
	_, _ = conn.Exec(t.Context(), command("true"))
	<-conn.Done()
	wantTaint(t, conn.Tainted())
}

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

func TestAGuestThatDoesNotAnswerIsTainted(t *testing.T) {
	conn, _ := connected(t, expect.Phase, nil)
	conn.grace = 20 * time.Millisecond
	exec := command("sleep")
	exec.TimeoutMillis = 1
	_, err := conn.Exec(t.Context(), exec)
	wantTaint(t, err)
}

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

// FuzzGuestMessages feeds a guest's bytes to a connection with a request on the
// wire. Whatever they are, the request ends, and nothing but a valid dial passes.
func FuzzGuestMessages(f *testing.F) {
	f.Add([]byte(`{"id":1,"exec":{"exitCode":0}}`+"\n"), true)
	f.Add([]byte(`{"id":0,"dial":3}`+"\n"+`{"id":1,"error":"io_error"}`+"\n"), true)
	f.Add([]byte(`{"id":0,"dial":3}`+"\n"), false)
	f.Add([]byte("{\"id\":1,\"exec\":{\"exitCode\":0,\"stdout\":\"QQ==\",\"stdoutBytes\":1}}\n\n"), false)
	f.Fuzz(func(t *testing.T, input []byte, provisioning bool) {
		phase := brokerproto.PhaseVerification
		if provisioning {
			phase = brokerproto.PhaseProvisioning
		}
		host, stream := net.Pipe()
		conn := newConn(host, brokerproto.NewReader(host), phase, func(n int) {
			if phase != brokerproto.PhaseProvisioning || n < 1 || n > brokerproto.MaxRelayConnections {
				t.Errorf("dial %d in %s", n, phase)
			}
		})
		defer conn.Close()
		go func() {
			_ = brokerproto.NewReader(stream).Read(&brokerproto.Request{})
			_, _ = stream.Write(input)
			_ = stream.Close()
		}()
		result, err := conn.Exec(t.Context(), command("true"))
		if err == nil && (result.ExitCode < -1 || result.ExitCode > 255 || len(result.Stdout) > brokerproto.MaxStream) {
			t.Errorf("accepted %+v", result)
		}
	})
}
