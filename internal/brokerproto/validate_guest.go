package brokerproto

import "slices"

// Sizes of the random members of a welcome, in bytes.
const (
	SeedBytes     = 32
	RelayKeyBytes = 32
)

// Validate checks a hello against what the host gave the VM.
func (h *Hello) Validate(scope Scope, phase Phase, nonce string) error {
	switch {
	case h.Protocol != Protocol:
		return broken("hello.protocol", "must be %s", Protocol)
	case h.Scope != scope:
		return broken("hello.scope", "must be %s", scope)
	case h.Phase != phase:
		return broken("hello.phase", "must be %s", phase)
	case h.Nonce != nonce:
		return broken("hello.nonce", "must be the one of this boot")
	}
	return nil
}

// Validate checks a welcome for a VM in the given phase.
func (w *Welcome) Validate(phase Phase) error {
	key := 0
	if phase == PhaseProvisioning {
		key = RelayKeyBytes
	}
	switch {
	case w.UnixNanos <= 0:
		return broken("welcome.unixNanos", "must be a time after 1970")
	case len(w.Seed) != SeedBytes:
		return broken("welcome.seed", "must be %d bytes", SeedBytes)
	case len(w.RelayKey) != key:
		return broken("welcome.relayKey", "must be %d bytes in provisioning, else absent", RelayKeyBytes)
	case w.Worker.PIDs < 1, w.Worker.MemoryMiB < 1, w.Worker.TmpMiB < 1, w.Worker.CPUs < 1:
		return broken("welcome.worker", "every limit must be positive")
	}
	return nil
}

// IsDial reports whether the message claims to be a dial event.
func (m *Message) IsDial() bool { return m.ID == 0 }

// ValidateDial checks a dial event. Only a VM in provisioning may send one.
func (m *Message) ValidateDial(phase Phase) error {
	switch {
	case phase != PhaseProvisioning:
		return broken("dial", "for provisioning only")
	case m.ID != 0 || m.Error != "" || m.Exec != nil || m.Data != nil:
		return broken("dial", "must stand alone")
	case m.Dial < 1 || m.Dial > MaxRelayConnections:
		return broken("dial", "must be 1 to %d", MaxRelayConnections)
	}
	return nil
}

// ValidateAnswer checks an answer to the given request. An answer that carries an
// error slug is valid.
func (m *Message) ValidateAnswer(to *Request) error {
	if m.ID != to.ID {
		return broken("id", "must be the request's")
	}
	if m.Dial != 0 {
		return broken("dial", "must stand alone")
	}
	if m.Error != "" {
		return m.validateError()
	}
	if (m.Exec != nil) != (to.Op == OpExec) {
		return broken("exec", "present exactly in the answer to exec")
	}
	if m.Data != nil && to.Op != OpGet {
		return broken("data", "present only in the answer to get")
	}
	if len(m.Data) > MaxFile {
		return broken("data", "at most %d bytes", MaxFile)
	}
	if m.Exec != nil {
		return m.Exec.validate(to.Exec.Report)
	}
	return nil
}

func (m *Message) validateError() error {
	if m.Exec != nil || m.Data != nil {
		return broken("error", "must stand alone")
	}
	if len(m.Error) > 64 {
		return broken("error", "at most 64 bytes")
	}
	for _, c := range []byte(m.Error) {
		if c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return broken("error", "lower-case letters, digits and underscores only")
		}
	}
	return nil
}

func (r *ExecResult) validate(report bool) error {
	switch {
	case r.ExitCode < -1 || r.ExitCode > 255:
		return broken("exec.exitCode", "must be -1 to 255")
	case r.Signal < 0 || r.Signal > 64:
		return broken("exec.signal", "must be 0 to 64")
	case (r.ExitCode == -1) != (r.Signal != 0):
		return broken("exec.signal", "set exactly if exitCode is -1")
	case !wholeOrCut(r.Stdout, r.StdoutBytes):
		return broken("exec.stdout", "must be all that was written, or its first and last %d bytes", MaxStream/2)
	case !wholeOrCut(r.Stderr, r.StderrBytes):
		return broken("exec.stderr", "must be all that was written, or its first and last %d bytes", MaxStream/2)
	case (r.Report != nil) != report:
		return broken("exec.report", "present exactly if asked for")
	case r.Report != nil:
		return r.Report.validate()
	}
	return nil
}

// wholeOrCut checks a captured stream's length against what was written.
func wholeOrCut(stream []byte, written int64) bool {
	return int64(len(stream)) == min(written, MaxStream)
}

func (r *Report) validate() error {
	errors := []string{"", ReportAbsent, ReportNotRegular, ReportTooLarge, ReportUnreadable}
	switch {
	case !slices.Contains(errors, r.Error):
		return broken("exec.report.error", "unknown")
	case r.Error != "" && r.Data != nil:
		return broken("exec.report.data", "absent if there is an error")
	case len(r.Data) > MaxReport:
		return broken("exec.report.data", "at most %d bytes", MaxReport)
	}
	return nil
}
