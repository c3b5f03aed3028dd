package brokerproto_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

func validExec() brokerproto.Request {
	return brokerproto.Request{ID: 1, Op: brokerproto.OpExec, Exec: &brokerproto.Exec{
		Argv: []string{"npm", "test"}, Env: map[string]string{"CI": "1"},
		Network: brokerproto.NetworkNone, TimeoutMillis: 1000,
	}}
}

func validPut() brokerproto.Request {
	return brokerproto.Request{ID: 1, Op: brokerproto.OpPut, Put: &brokerproto.Put{Path: "a/b.txt", Mode: 0o644}}
}

// checkField wants err to name field, or to be nil if field is empty.
func checkField(t *testing.T, err error, field string) {
	t.Helper()
	var broken *brokerproto.Error
	switch {
	case field == "" && err != nil:
		t.Fatalf("refused: %v", err)
	case field != "" && (!errors.As(err, &broken) || broken.Field != field):
		t.Fatalf("got %v, want a refusal of %s", err, field)
	}
}

func TestRequestValidate(t *testing.T) {
	proxy := func(r *brokerproto.Request) { r.Exec.Network = brokerproto.NetworkPackageProxy }
	cases := map[string]struct {
		phase brokerproto.Phase
		edit  func(*brokerproto.Request)
		field string
	}{
		"a plain command is valid":                          {edit: func(*brokerproto.Request) {}},
		"the package proxy is valid in provisioning":        {phase: brokerproto.PhaseProvisioning, edit: proxy},
		"the package proxy is refused in verification":      {edit: proxy, field: "exec.network"},
		"an unknown network is refused":                     {edit: func(r *brokerproto.Request) { r.Exec.Network = "host" }, field: "exec.network"},
		"id 0 is refused: it marks dial events":             {edit: func(r *brokerproto.Request) { r.ID = 0 }, field: "id"},
		"an operation outside the set is refused":           {edit: func(r *brokerproto.Request) { r.Op = "mount" }, field: "op"},
		"an operation without its member is refused":        {edit: func(r *brokerproto.Request) { r.Op, r.Exec = brokerproto.OpGet, nil }, field: "get"},
		"a second member is refused":                        {edit: func(r *brokerproto.Request) { r.Put = validPut().Put }, field: "put"},
		"a shutdown with a member is refused":               {edit: func(r *brokerproto.Request) { r.Op = brokerproto.OpShutdown }, field: "exec"},
		"an empty command line is refused":                  {edit: func(r *brokerproto.Request) { r.Exec.Argv = nil }, field: "exec.argv"},
		"an empty command name is refused":                  {edit: func(r *brokerproto.Request) { r.Exec.Argv = []string{""} }, field: "exec.argv"},
		"too many arguments are refused":                    {edit: func(r *brokerproto.Request) { r.Exec.Argv = make([]string, 65); r.Exec.Argv[0] = "a" }, field: "exec.argv"},
		"too large a command line is refused":               {edit: func(r *brokerproto.Request) { r.Exec.Argv[1] = strings.Repeat("a", 16<<10) }, field: "exec.argv"},
		"NUL in an argument is refused":                     {edit: func(r *brokerproto.Request) { r.Exec.Argv[1] = "a\x00" }, field: "exec.argv"},
		"a token in an argument is refused":                 {edit: func(r *brokerproto.Request) { r.Exec.Argv[1] = "ghp_" + strings.Repeat("a", 36) }, field: "exec.argv"},
		"a token in the environment is refused":             {edit: func(r *brokerproto.Request) { r.Exec.Env["T"] = "npm_" + strings.Repeat("a", 36) }, field: "exec.env"},
		"a private key in the environment is refused":       {edit: func(r *brokerproto.Request) { r.Exec.Env["T"] = "-----BEGIN RSA PRIVATE KEY-----" }, field: "exec.env"},
		"a lower-case npm setting is no secret":             {edit: func(r *brokerproto.Request) { r.Exec.Env["npm_config_registry"] = "http://127.0.0.1:7481/" }},
		"LD_PRELOAD is refused":                             {edit: func(r *brokerproto.Request) { r.Exec.Env["LD_PRELOAD"] = "/workspace/a.so" }, field: "exec.env"},
		"a variable name with '=' is refused":               {edit: func(r *brokerproto.Request) { r.Exec.Env["A=B"] = "" }, field: "exec.env"},
		"a variable name that begins with digit is refused": {edit: func(r *brokerproto.Request) { r.Exec.Env["1A"] = "" }, field: "exec.env"},
		"too large an environment is refused":               {edit: func(r *brokerproto.Request) { r.Exec.Env["A"] = strings.Repeat("a", 8<<10) }, field: "exec.env"},
		"a command without a time limit is refused":         {edit: func(r *brokerproto.Request) { r.Exec.TimeoutMillis = 0 }, field: "exec.timeoutMillis"},
		"a time limit over six hours is refused":            {edit: func(r *brokerproto.Request) { r.Exec.TimeoutMillis = brokerproto.MaxTimeout.Milliseconds() + 1 }, field: "exec.timeoutMillis"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			request := validExec()
			c.edit(&request)
			phase := c.phase
			if phase == "" {
				phase = brokerproto.PhaseVerification
			}
			checkField(t, request.Validate(phase), c.field)
		})
	}
}

func TestPathsStayBelowTheWorkspace(t *testing.T) {
	for _, good := range []string{"a", "a/b", ".hidden", "..a", "a..", "a/..b", strings.Repeat("a", brokerproto.MaxPath)} {
		request := validPut()
		request.Put.Path = good
		checkField(t, request.Validate(brokerproto.PhaseVerification), "")
	}
	for _, bad := range []string{"", ".", "..", "/", "/etc/passwd", "../a", "a/../b", "a/..", "a//b", "a/", "./a", "a\x00b", "\xff", strings.Repeat("a", brokerproto.MaxPath+1)} {
		request := validPut()
		request.Put.Path = bad
		checkField(t, request.Validate(brokerproto.PhaseVerification), "put.path")
	}
	setuid := validPut()
	setuid.Put.Mode = 0o4755
	checkField(t, setuid.Validate(brokerproto.PhaseVerification), "put.mode")
}

func TestHelloValidate(t *testing.T) {
	good := brokerproto.Hello{Protocol: brokerproto.Protocol, Scope: brokerproto.ScopeContainer, Phase: brokerproto.PhaseVerification, Nonce: "n"}
	cases := map[string]struct {
		edit  func(*brokerproto.Hello)
		field string
	}{
		"what the host gave the VM is valid": {func(*brokerproto.Hello) {}, ""},
		"another protocol is refused":        {func(h *brokerproto.Hello) { h.Protocol = "zt-broker-v0" }, "hello.protocol"},
		"another scope is refused":           {func(h *brokerproto.Hello) { h.Scope = "vm-root" }, "hello.scope"},
		"another phase is refused":           {func(h *brokerproto.Hello) { h.Phase = brokerproto.PhaseProvisioning }, "hello.phase"},
		"the nonce of another boot":          {func(h *brokerproto.Hello) { h.Nonce = "m" }, "hello.nonce"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			hello := good
			c.edit(&hello)
			checkField(t, hello.Validate(brokerproto.ScopeContainer, brokerproto.PhaseVerification, "n"), c.field)
		})
	}
}

func TestWelcomeValidate(t *testing.T) {
	good := brokerproto.Welcome{UnixNanos: 1, Seed: make([]byte, 32), Worker: brokerproto.WorkerLimits{PIDs: 1, MemoryMiB: 1, TmpMiB: 1, CPUs: 1}}
	checkField(t, good.Validate(brokerproto.PhaseVerification), "")
	checkField(t, good.Validate(brokerproto.PhaseProvisioning), "welcome.relayKey")
	good.RelayKey = make([]byte, 32)
	checkField(t, good.Validate(brokerproto.PhaseProvisioning), "")
	checkField(t, good.Validate(brokerproto.PhaseVerification), "welcome.relayKey")
	good.Worker.PIDs = 0
	checkField(t, good.Validate(brokerproto.PhaseProvisioning), "welcome.worker")
}

func TestAnswerValidate(t *testing.T) {
	exec := func(edit func(*brokerproto.ExecResult)) brokerproto.Message {
		result := &brokerproto.ExecResult{Stdout: []byte("a"), StdoutBytes: 1}
		edit(result)
		return brokerproto.Message{ID: 1, Exec: result}
	}
	report := func(r brokerproto.Report) brokerproto.Message {
		return exec(func(e *brokerproto.ExecResult) { e.Report = &r })
	}
	get := brokerproto.Request{ID: 1, Op: brokerproto.OpGet, Get: &brokerproto.Get{Path: "a"}}
	shutdown := brokerproto.Request{ID: 1, Op: brokerproto.OpShutdown}
	plain, reporting := validExec(), validExec()
	reporting.Exec.Report = true

	cases := map[string]struct {
		to     brokerproto.Request
		answer brokerproto.Message
		field  string
	}{
		"a result is valid":                           {plain, exec(func(*brokerproto.ExecResult) {}), ""},
		"the id of another request is refused":        {plain, brokerproto.Message{ID: 2, Exec: &brokerproto.ExecResult{}}, "id"},
		"a dial inside an answer is refused":          {plain, brokerproto.Message{ID: 1, Exec: &brokerproto.ExecResult{}, Dial: 1}, "dial"},
		"an empty answer to exec is refused":          {plain, brokerproto.Message{ID: 1}, "exec"},
		"a result for a get is refused":               {get, exec(func(*brokerproto.ExecResult) {}), "exec"},
		"data for an exec is refused":                 {plain, brokerproto.Message{ID: 1, Exec: &brokerproto.ExecResult{}, Data: []byte("a")}, "data"},
		"a file is valid":                             {get, brokerproto.Message{ID: 1, Data: []byte("a")}, ""},
		"an empty file is valid":                      {get, brokerproto.Message{ID: 1}, ""},
		"a file over the limit is refused":            {get, brokerproto.Message{ID: 1, Data: make([]byte, brokerproto.MaxFile+1)}, "data"},
		"an empty answer to shutdown is valid":        {shutdown, brokerproto.Message{ID: 1}, ""},
		"an error slug is valid":                      {plain, brokerproto.Message{ID: 1, Error: "io_error"}, ""},
		"an error in prose is refused":                {plain, brokerproto.Message{ID: 1, Error: "It broke"}, "error"},
		"a long error is refused":                     {plain, brokerproto.Message{ID: 1, Error: strings.Repeat("a", 65)}, "error"},
		"an error beside a result is refused":         {plain, brokerproto.Message{ID: 1, Error: "io_error", Exec: &brokerproto.ExecResult{}}, "error"},
		"an exit code over 255 is refused":            {plain, exec(func(e *brokerproto.ExecResult) { e.ExitCode = 256 }), "exec.exitCode"},
		"an exit code below -1 is refused":            {plain, exec(func(e *brokerproto.ExecResult) { e.ExitCode = -2 }), "exec.exitCode"},
		"a signal with an exit code is refused":       {plain, exec(func(e *brokerproto.ExecResult) { e.Signal = 9 }), "exec.signal"},
		"-1 without a signal is refused":              {plain, exec(func(e *brokerproto.ExecResult) { e.ExitCode = -1 }), "exec.signal"},
		"a signal over 64 is refused":                 {plain, exec(func(e *brokerproto.ExecResult) { e.ExitCode, e.Signal = -1, 65 }), "exec.signal"},
		"a count below the captured bytes is refused": {plain, exec(func(e *brokerproto.ExecResult) { e.StdoutBytes = 0 }), "exec.stdout"},
		"a count that hides missing bytes is refused": {plain, exec(func(e *brokerproto.ExecResult) { e.StderrBytes = 5 }), "exec.stderr"},
		"a stream over the limit is refused": {plain, exec(func(e *brokerproto.ExecResult) {
			e.Stdout, e.StdoutBytes = make([]byte, brokerproto.MaxStream+1), brokerproto.MaxStream+1
		}), "exec.stdout"},
		"a report nobody asked for is refused": {plain, report(brokerproto.Report{}), "exec.report"},
		"a missing report is refused":          {reporting, exec(func(*brokerproto.ExecResult) {}), "exec.report"},
		"a report is valid":                    {reporting, report(brokerproto.Report{Data: []byte("<a/>")}), ""},
		"an absent report is valid":            {reporting, report(brokerproto.Report{Error: brokerproto.ReportAbsent}), ""},
		"an unknown report error is refused":   {reporting, report(brokerproto.Report{Error: "lost"}), "exec.report.error"},
		"a report with both is refused":        {reporting, report(brokerproto.Report{Error: brokerproto.ReportAbsent, Data: []byte("a")}), "exec.report.data"},
		"a report over the limit is refused":   {reporting, report(brokerproto.Report{Data: make([]byte, brokerproto.MaxReport+1)}), "exec.report.data"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			checkField(t, c.answer.ValidateAnswer(&c.to), c.field)
		})
	}
}

func TestDialValidate(t *testing.T) {
	one := brokerproto.Message{Dial: 1}
	checkField(t, one.ValidateDial(brokerproto.PhaseProvisioning), "")
	checkField(t, one.ValidateDial(brokerproto.PhaseVerification), "dial")
	for _, bad := range []brokerproto.Message{{}, {Dial: -1}, {Dial: brokerproto.MaxRelayConnections + 1}, {Dial: 1, Error: "io_error"}, {ID: 1, Dial: 1}} {
		checkField(t, bad.ValidateDial(brokerproto.PhaseProvisioning), "dial")
	}
}
