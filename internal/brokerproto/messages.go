package brokerproto

// Scope is what runs in a VM.
type Scope string

// ScopeContainer: commands run in the hardened worker container.
const ScopeContainer Scope = "container"

// Phase is a VM's network phase.
type Phase string

// The network phases: provisioning has the one forward, verification no network.
const (
	PhaseProvisioning Phase = "provisioning"
	PhaseVerification Phase = "verification"
)

// Network is the network of one command.
type Network string

// The networks. PackageProxy is admitted in PhaseProvisioning only.
const (
	NetworkNone         Network = "none"
	NetworkPackageProxy Network = "package_proxy"
)

// Op is a broker operation.
type Op string

// The closed set of operations.
const (
	OpExec     Op = "exec"
	OpPut      Op = "put"
	OpGet      Op = "get"
	OpShutdown Op = "shutdown"
)

// Hello is the guest's first line: what it believes it is.
type Hello struct {
	Protocol string `json:"protocol"`
	Scope    Scope  `json:"scope"`
	Phase    Phase  `json:"phase"`
	Nonce    string `json:"nonce"`
}

// Welcome is the host's answer. The guest sets its clock and feeds its random
// number generator from it before any worker starts.
type Welcome struct {
	// UnixNanos is the host's clock.
	UnixNanos int64 `json:"unixNanos"`
	// Seed is 32 random bytes.
	Seed []byte `json:"seed"`
	// RelayKey is 32 random bytes in provisioning, else absent. The host opens
	// every connection through the forward with it.
	RelayKey []byte `json:"relayKey,omitempty"`
	// Worker bounds the worker container.
	Worker WorkerLimits `json:"worker"`
}

// WorkerLimits bounds the worker container.
type WorkerLimits struct {
	PIDs      int `json:"pids"`
	MemoryMiB int `json:"memoryMiB"`
	TmpMiB    int `json:"tmpMiB"`
	CPUs      int `json:"cpus"`
}

// Request is one operation; exactly the member that its Op names is set (none for
// shutdown).
type Request struct {
	ID   uint64 `json:"id"`
	Op   Op     `json:"op"`
	Exec *Exec  `json:"exec,omitempty"`
	Put  *Put   `json:"put,omitempty"`
	Get  *Get   `json:"get,omitempty"`
}

// Exec runs a command in the worker container, in the workspace.
type Exec struct {
	// Argv is the command; Argv[0] is looked up in the container's PATH.
	Argv []string `json:"argv"`
	// Env is added to the container's own small environment.
	Env map[string]string `json:"env,omitempty"`
	// Network the command gets.
	Network Network `json:"network"`
	// TimeoutMillis ends the command, and all it started, when it runs out.
	TimeoutMillis int64 `json:"timeoutMillis"`
	// Report asks for a fresh report folder and the file read back from it.
	Report bool `json:"report,omitempty"`
}

// Put writes a workspace file, replacing a regular file.
type Put struct {
	Path string `json:"path"`
	Mode uint32 `json:"mode"`
	Data []byte `json:"data"`
}

// Get reads a regular workspace file.
type Get struct {
	Path string `json:"path"`
}

// Message is one line from the guest after its hello: an answer, or in
// provisioning a dial event, in which case ID is 0 and only Dial is set.
type Message struct {
	ID uint64 `json:"id"`
	// Error is a short slug; empty on success.
	Error string `json:"error,omitempty"`
	// Exec is set on the answer to a successful exec.
	Exec *ExecResult `json:"exec,omitempty"`
	// Data is set on the answer to a successful get.
	Data []byte `json:"data,omitempty"`
	// Dial asks the host for that many further relay connections.
	Dial int `json:"dial,omitempty"`
}

// ExecResult says how a command ended. A command that could not be started has
// an Error in its message instead.
type ExecResult struct {
	// ExitCode is 0–255, or -1 if a signal ended the command.
	ExitCode int `json:"exitCode"`
	// Signal that ended the command, else 0.
	Signal int `json:"signal,omitempty"`
	// TimedOut is true if TimeoutMillis ran out.
	TimedOut bool `json:"timedOut,omitempty"`
	// OOMKilled is true if the container's memory limit killed a process.
	OOMKilled bool `json:"oomKilled,omitempty"`
	// Stdout and Stderr as captured; see MaxStream.
	Stdout []byte `json:"stdout,omitempty"`
	Stderr []byte `json:"stderr,omitempty"`
	// StdoutBytes and StderrBytes count what the command wrote in all.
	StdoutBytes int64 `json:"stdoutBytes,omitempty"`
	StderrBytes int64 `json:"stderrBytes,omitempty"`
	// Report is present only if one was asked for.
	Report *Report `json:"report,omitempty"`
}

// Report is the file the worker left in its report folder.
type Report struct {
	// Data of the file; empty if Error is set.
	Data []byte `json:"data,omitempty"`
	// Error says why there is no data: absent, not_regular, too_large, unreadable.
	Error string `json:"error,omitempty"`
}

// Error slugs of the guest. The host accepts any slug of this shape: lower-case
// letters, digits and underscores, at most 64 bytes.
const (
	ErrorBadRequest      = "bad_request"
	ErrorNetworkRefused  = "network_refused"
	ErrorContainerFailed = "container_failed"
	ErrorNotFound        = "not_found"
	ErrorNotRegular      = "not_regular"
	ErrorTooLarge        = "too_large"
	ErrorIO              = "io_error"

	// ErrorBootPrefix begins the slug of a guest whose boot failed, and which only said
	// hello to tell of it: the rest names the stage.
	ErrorBootPrefix = "boot_"

	ReportAbsent     = "absent"
	ReportNotRegular = "not_regular"
	ReportTooLarge   = "too_large"
	ReportUnreadable = "unreadable"
)
