//go:build vm

package vm_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/nodeagent/broker"
)

func proxied(e *brokerproto.Exec) { e.Network = brokerproto.NetworkPackageProxy }

// fetchAll has Node open n connections at once to the relay and print a digest of
// what each brought.
const fetchAll = `
const http = require('http'), crypto = require('crypto');
const n = +process.argv[1], agent = new http.Agent({ maxSockets: n, keepAlive: true });
let left = n;
for (let i = 0; i < n; i++) http.get({ host: '127.0.0.1', port: 7481, path: '/' + i, agent }, (r) => {
  const h = crypto.createHash('sha256'); let size = 0;
  r.on('data', (d) => { h.update(d); size += d.length; }).on('end', () => {
    console.log(i, r.statusCode, size, h.digest('hex').slice(0, 8)); if (--left === 0) process.exit(0); });
}).on('error', (e) => { console.log(i, e.code); if (--left === 0) process.exit(1); });`

func TestTheRelayCarriesManyConnectionsAtOnce(t *testing.T) {
	body := bytes.Repeat([]byte("zt"), 100_000)
	var atOnce, most atomic.Int64
	mirror := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		most.Store(max(most.Load(), atOnce.Add(1)))
		// Long enough for all to be here together.
		time.Sleep(2 * time.Second)
		atOnce.Add(-1)
		_, _ = w.Write(body)
	}))
	defer mirror.Close()
	m := newMachine(t, nil)
	m.mirror = strings.TrimPrefix(mirror.URL, "http://")
	v := m.boot(t, brokerproto.PhaseProvisioning)

	const n = 40
	r := v.run(proxied, "node", "-e", fetchAll, fmt.Sprint(n))
	lines := strings.Split(strings.TrimSpace(string(r.Stdout)), "\n")
	if r.ExitCode != 0 || len(lines) != n {
		t.Fatalf("exit %d, %d answers: %s%s", r.ExitCode, len(lines), r.Stdout, r.Stderr)
	}
	for _, line := range lines {
		if fields := strings.Fields(line); len(fields) != 4 || fields[1] != "200" || fields[2] != "200000" || fields[3] != strings.Fields(lines[0])[3] {
			t.Errorf("answer %q", line)
		}
	}
	t.Logf("%d requests at once reached the mirror", most.Load())
	if most.Load() < 16 {
		t.Errorf("only %d connections at once", most.Load())
	}
	if again := v.run(proxied, "node", "-e", fetchAll, "1"); again.ExitCode != 0 {
		t.Errorf("the next command: %s%s", again.Stdout, again.Stderr)
	}
	if stats := v.channel.Close(); stats.Connections < n || stats.ToGuestBytes < n*200_000 {
		t.Errorf("the connector counted %+v", stats)
	}
}

// A client may close its sending side and still wait for the answer.
func TestTheRelayRespectsAHalfClose(t *testing.T) {
	m := newMachine(t, nil)
	m.mirror = echoServer(t)
	v := m.boot(t, brokerproto.PhaseProvisioning)
	r := v.run(proxied, "node", "-e", `const s = require('net').connect({ port: 7481, host: '127.0.0.1', allowHalfOpen: true });
		s.on('data', (d) => console.log('got ' + d)).on('end', () => process.exit(0)); s.end('all of it');`)
	if got := string(r.Stdout); got != "got all of it\n" || r.ExitCode != 0 {
		t.Errorf("exit %d: %q %s", r.ExitCode, got, r.Stderr)
	}
}

func TestTheRelayRefusesAConnectionWithoutItsKey(t *testing.T) {
	m := newMachine(t, nil)
	m.mirror = echoServer(t)
	v := m.boot(t, brokerproto.PhaseProvisioning)
	// The hello comes before the network card: what dials earlier is lost in slirp.
	v.run(proxied, "true")
	for name, opening := range map[string][]byte{"another key": random(32), "the key but one bit": append(bytes.Clone(v.key[:31]), v.key[31]^1)} {
		conn, err := dialer(v.forward)(t.Context())
		must(t, err)
		_, _ = conn.Write(append(opening, "impostor"...))
		_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
		if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("%s: the guest sent something", name)
		} else if !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: the guest keeps the connection: %v", name, err)
		}
		conn.Close()
	}
	// Silent connections must not use up the relay.
	for range 100 {
		conn, err := dialer(v.forward)(t.Context())
		must(t, err)
		defer conn.Close()
	}
	if r := v.run(proxied, "node", "-e", `const s=require('net').connect(7481,'127.0.0.1');s.on('data',d=>{console.log(''+d);s.end()});s.write('ok')`); string(r.Stdout) != "ok\n" {
		t.Errorf("a genuine connection: %q %s", r.Stdout, r.Stderr)
	}
}

func TestNetworksAreWhatThePhaseAdmits(t *testing.T) {
	const reach = `const s=require('net').connect(7481,'127.0.0.1');s.on('error',e=>{console.log(e.code);process.exit(0)}).on('connect',()=>{console.log('connected');process.exit(0)})`
	m := newMachine(t, nil)
	m.mirror = echoServer(t)
	v := m.boot(t, brokerproto.PhaseProvisioning)
	if r := v.run(nil, "node", "-e", reach); string(r.Stdout) != "ECONNREFUSED\n" {
		t.Errorf("without the proxy in provisioning: %q", r.Stdout)
	}
	if r := v.run(proxied, "node", "-e", reach); string(r.Stdout) != "connected\n" {
		t.Errorf("with the proxy: %q", r.Stdout)
	}
	// Only loopback: the VM's own card is not in the worker's network.
	if r := v.run(proxied, "sh", "-c", "tail -n +3 /proc/net/dev | cut -d : -f 1 | tr -d ' '"); string(r.Stdout) != "lo\n" {
		t.Errorf("devices with the proxy: %q", r.Stdout)
	}
	v.powerOff()
	v = m.boot(t, brokerproto.PhaseVerification)
	if _, err := v.try(proxied, "true"); !errors.As(err, new(*broker.RequestError)) {
		t.Errorf("the proxy in verification: %v, want the host to refuse it", err)
	}
	if r := v.run(nil, "node", "-e", reach); string(r.Stdout) != "ECONNREFUSED\n" {
		t.Errorf("in verification: %q", r.Stdout)
	}
}
