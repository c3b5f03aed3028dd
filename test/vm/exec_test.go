//go:build vm

package vm_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/nodeagent/broker"
)

func TestCommandsEndAsTheyDid(t *testing.T) {
	v := newMachine(t, nil).boot(t, brokerproto.PhaseVerification)
	short := func(e *brokerproto.Exec) { e.TimeoutMillis = 3000 }
	cases := []struct {
		name   string
		edit   func(*brokerproto.Exec)
		argv   []string
		exit   int
		signal int
		timed  bool
		oom    bool
	}{
		{name: "a command that succeeds", argv: []string{"true"}},
		{name: "a command that fails", argv: []string{"sh", "-c", "exit 77"}, exit: 77},
		{name: "an exit status like a shell's for a signal", argv: []string{"sh", "-c", "exit 137"}, exit: 137},
		{name: "a command that aborts", argv: []string{"sh", "-c", "kill -ABRT $$"}, exit: -1, signal: 6},
		{name: "a command that kills itself", argv: []string{"sh", "-c", "kill -KILL $$"}, exit: -1, signal: 9},
		{name: "a command that tries to kill its shim", argv: []string{"sh", "-c", "kill -KILL 1; kill -TERM 1; kill -STOP 1; sleep 1; exit 3"}, exit: 3},
		{name: "a command that runs out of time", edit: short, argv: []string{"sleep", "60"}, exit: -1, signal: 9, timed: true},
		{name: "a command whose children ignore signals", edit: short, argv: []string{"sh", "-c", "trap '' TERM INT; setsid sleep 60 & setsid sleep 60; wait"}, exit: -1, signal: 9, timed: true},
		{name: "a command that stops itself", edit: short, argv: []string{"sh", "-c", "kill -STOP $$"}, exit: -1, signal: 9, timed: true},
		{name: "a command that leaves children behind", argv: []string{"sh", "-c", "setsid sleep 600 >/dev/null 2>&1 & exit 4"}, exit: 4},
		{name: "a command that leaves its output open", argv: []string{"sh", "-c", "setsid sleep 600 & exit 5"}, exit: 5},
		{name: "a command that takes all memory", argv: []string{"node", "-e", "const a=[];for(;;)a.push(Buffer.alloc(32<<20,1))"}, exit: -1, signal: 9, oom: true},
		{name: "a command that fills /tmp", argv: []string{"sh", "-c", "head -c 2000000000 /dev/zero >/tmp/x 2>/dev/null || exit 6"}, exit: 6},
		{name: "a command that works after all that", argv: []string{"true"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			v.t = t
			r := v.run(c.edit, c.argv...)
			t.Logf("took %v", time.Since(start))
			if r.ExitCode != c.exit || r.Signal != c.signal || r.TimedOut != c.timed || r.OOMKilled != c.oom {
				t.Errorf("exit %d, signal %d, timed out %v, OOM %v; want %d, %d, %v, %v; stderr %s",
					r.ExitCode, r.Signal, r.TimedOut, r.OOMKilled, c.exit, c.signal, c.timed, c.oom, r.Stderr)
			}
		})
	}
}

func TestCommandsThatCannotStartAreErrors(t *testing.T) {
	v := newMachine(t, map[string]string{"plain": "no program"}).boot(t, brokerproto.PhaseVerification)
	for command, slug := range map[string]string{
		"no-such-command": brokerproto.ErrorNotFound,
		"/no/such/path":   brokerproto.ErrorNotFound,
		"./plain":         brokerproto.ErrorContainerFailed,
		"/etc":            brokerproto.ErrorContainerFailed,
	} {
		_, err := v.try(nil, command)
		var refused *broker.GuestError
		if !errors.As(err, &refused) || refused.Slug != slug {
			t.Errorf("%s: %v, want %s", command, err, slug)
		}
	}
}

func TestStreamsKeepHeadAndTail(t *testing.T) {
	v := newMachine(t, nil).boot(t, brokerproto.PhaseVerification)
	r := v.run(nil, "sh", "-c", "echo first; head -c 3000000 /dev/zero; echo last; echo err >&2")
	if len(r.Stdout) != brokerproto.MaxStream || r.StdoutBytes != 3000011 {
		t.Errorf("kept %d of %d bytes", len(r.Stdout), r.StdoutBytes)
	}
	if out := string(r.Stdout); !strings.HasPrefix(out, "first\n\x00") || !strings.HasSuffix(out, "\x00last\n") {
		t.Errorf("head %q, tail %q", out[:8], out[len(out)-8:])
	}
	if string(r.Stderr) != "err\n" || r.StderrBytes != 4 {
		t.Errorf("stderr %q", r.Stderr)
	}
}

func TestAForkBombIsBoundedAndEnds(t *testing.T) {
	v := newMachine(t, nil).boot(t, brokerproto.PhaseVerification)
	start := time.Now()
	// The shell itself must not fork any more: it would fail among its bombs.
	r := v.run(func(e *brokerproto.Exec) { e.TimeoutMillis = 10_000 }, "sh", "-c", "b() { b | b & }; b; while :; do :; done")
	if !r.TimedOut {
		t.Errorf("ended by itself: exit %d, signal %d", r.ExitCode, r.Signal)
	}
	t.Logf("ended %v after its start", time.Since(start))
	if got := v.sh("echo alive; ls -d /proc/[0-9]* | wc -l"); got != "alive\n4" {
		t.Logf("after the bomb: %q", got)
		if !strings.HasPrefix(got, "alive") {
			t.Errorf("the VM does not answer: %q", got)
		}
	}
}
