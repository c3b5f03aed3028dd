package brokerproto

import "time"

// Names and numbers both sides agree on.
const (
	// Protocol is the name and version in every hello.
	Protocol = "zt-broker-v1"

	// PortName is the virtio-serial port's name.
	PortName = "org.ai-dossier.zt.broker"

	// Prefixes of the SMBIOS type 11 (OEM) strings by which the host tells the
	// guest what it is, before the broker exists.
	OEMScope = "org.ai-dossier.zt.scope:"
	OEMPhase = "org.ai-dossier.zt.phase:"
	OEMNonce = "org.ai-dossier.zt.nonce:"

	// RelayGuestPort is the guest port that the one forward of a provisioning VM
	// leads to.
	RelayGuestPort = 7480
	// RelayWorkerPort is the port on the worker's loopback where its package
	// manager finds the mirror.
	RelayWorkerPort = 7481
)

// Limits of the protocol. The host enforces all of them.
const (
	// MaxFrame bounds one line in either direction, newline included, in bytes:
	// two streams and a report in base64, and their envelope.
	MaxFrame = 2 << 20
	// MaxStream bounds each of stdout and stderr of one command, in bytes. The
	// guest keeps the head half and the tail half of a longer stream.
	MaxStream = 256 << 10
	// MaxReport bounds a test report, in bytes.
	MaxReport = 256 << 10
	// MaxFile bounds a file of put and get, in bytes.
	MaxFile = 1 << 20
	// MaxArgs and MaxArgBytes bound a command line.
	MaxArgs     = 64
	MaxArgBytes = 16 << 10
	// MaxEnv and MaxEnvBytes bound the environment of a command.
	MaxEnv      = 32
	MaxEnvBytes = 8 << 10
	// MaxPath bounds a workspace path, in bytes.
	MaxPath = 1024
	// MaxTimeout bounds a command's time limit.
	MaxTimeout = 6 * time.Hour
	// MaxRelayConnections bounds the worker's connections to the relay at once.
	MaxRelayConnections = 64
)

// Paths inside the worker container.
const (
	// Workspace is where the tree is mounted, writable.
	Workspace = "/workspace"
	// StateDir persists across the phase switch, outside the workspace.
	StateDir = "/opt/ztfc"
	// ReportDir is a fresh, empty folder for each command that reports.
	ReportDir = "/ztfc/report"
	// ReportFile is what the guest agent reads back from it.
	ReportFile = ReportDir + "/report.xml"
)
