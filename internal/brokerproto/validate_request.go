package brokerproto

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// Error is a message that breaks a rule of the protocol.
type Error struct {
	// Field is the member at fault, such as exec.argv.
	Field string
	// Rule says what it must be. It never holds the member's value.
	Rule string
}

func (e *Error) Error() string { return e.Field + ": " + e.Rule }

func broken(field, rule string, args ...any) error {
	return &Error{Field: field, Rule: fmt.Sprintf(rule, args...)}
}

// Validate checks a request against the limits and the phase of the VM. The host
// calls it before it sends, the guest before it obeys.
func (r *Request) Validate(phase Phase) error {
	if r.ID == 0 {
		return broken("id", "must not be 0")
	}
	if err := r.validateMembers(); err != nil {
		return err
	}
	switch r.Op {
	case OpExec:
		return r.Exec.validate(phase)
	case OpPut:
		return r.Put.validate()
	case OpGet:
		return validatePath("get.path", r.Get.Path)
	default:
		return nil
	}
}

// validateMembers wants exactly the member that the operation names.
func (r *Request) validateMembers() error {
	present := map[Op]bool{OpExec: r.Exec != nil, OpPut: r.Put != nil, OpGet: r.Get != nil}
	want, known := present[r.Op]
	if !known && r.Op != OpShutdown {
		return broken("op", "not in the operation set")
	}
	if known && !want {
		return broken(string(r.Op), "absent")
	}
	for op, is := range present {
		if is && op != r.Op {
			return broken(string(op), "does not belong to the operation")
		}
	}
	return nil
}

func (e *Exec) validate(phase Phase) error {
	if err := validateArgv(e.Argv); err != nil {
		return err
	}
	if err := validateEnv(e.Env); err != nil {
		return err
	}
	switch e.Network {
	case NetworkNone:
	case NetworkPackageProxy:
		if phase != PhaseProvisioning {
			return broken("exec.network", "%s is for provisioning only", NetworkPackageProxy)
		}
	default:
		return broken("exec.network", "unknown")
	}
	if e.TimeoutMillis < 1 || e.TimeoutMillis > MaxTimeout.Milliseconds() {
		return broken("exec.timeoutMillis", "must be 1 to %d", MaxTimeout.Milliseconds())
	}
	return nil
}

func validateArgv(argv []string) error {
	if len(argv) == 0 || argv[0] == "" {
		return broken("exec.argv", "must name a command")
	}
	if len(argv) > MaxArgs {
		return broken("exec.argv", "at most %d arguments", MaxArgs)
	}
	size := 0
	for _, arg := range argv {
		size += len(arg) + 1
		if err := validateText("exec.argv", arg); err != nil {
			return err
		}
	}
	if size > MaxArgBytes {
		return broken("exec.argv", "at most %d bytes", MaxArgBytes)
	}
	return nil
}

func validateEnv(env map[string]string) error {
	if len(env) > MaxEnv {
		return broken("exec.env", "at most %d variables", MaxEnv)
	}
	size := 0
	for name, value := range env {
		size += len(name) + len(value) + 2
		if !plainName(name) {
			return broken("exec.env", "a name must be letters, digits and underscores, and not begin with a digit")
		}
		if strings.HasPrefix(name, "LD_") {
			return broken("exec.env", "LD_ variables steer the loader and are refused")
		}
		if err := validateText("exec.env", value); err != nil {
			return err
		}
	}
	if size > MaxEnvBytes {
		return broken("exec.env", "at most %d bytes", MaxEnvBytes)
	}
	return nil
}

// validateText refuses what cannot travel to execve unchanged, and secrets: the
// VM is where untrusted code runs.
func validateText(field, text string) error {
	if strings.ContainsRune(text, 0) {
		return broken(field, "must not hold NUL")
	}
	if !utf8.ValidString(text) {
		return broken(field, "must be UTF-8")
	}
	if SecretShaped(text) {
		return broken(field, "holds what looks like a secret")
	}
	return nil
}

func plainName(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

func (p *Put) validate() error {
	if err := validatePath("put.path", p.Path); err != nil {
		return err
	}
	if p.Mode&^uint32(0o777) != 0 {
		return broken("put.mode", "permission bits only")
	}
	if len(p.Data) > MaxFile {
		return broken("put.data", "at most %d bytes", MaxFile)
	}
	return nil
}

// validatePath wants a clean path below the workspace.
func validatePath(field, name string) error {
	switch {
	case name == "" || name == ".":
		return broken(field, "must name a file")
	case len(name) > MaxPath:
		return broken(field, "at most %d bytes", MaxPath)
	case strings.ContainsRune(name, 0) || !utf8.ValidString(name):
		return broken(field, "must be UTF-8 without NUL")
	case path.IsAbs(name), path.Clean(name) != name, name == "..", strings.HasPrefix(name, "../"):
		return broken(field, "must be clean, relative and below the workspace")
	}
	return nil
}
