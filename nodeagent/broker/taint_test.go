package broker

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

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

func TestAGuestThatDoesNotAnswerIsTainted(t *testing.T) {
	conn, _ := connected(t, expect.Phase, nil)
	conn.grace = 20 * time.Millisecond
	exec := command("sleep")
	exec.TimeoutMillis = 1
	_, err := conn.Exec(t.Context(), exec)
	wantTaint(t, err)
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
