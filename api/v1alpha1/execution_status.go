package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ExecutionState is how far the node agent is with an attempt.
//
// +kubebuilder:validation:Enum=ReadingSource;WaitingForProxy;Running;Finished
type ExecutionState string

// The states of an execution, in order. A refusal or failure goes to Finished
// from any of them.
const (
	ExecutionReadingSource   ExecutionState = "ReadingSource"
	ExecutionWaitingForProxy ExecutionState = "WaitingForProxy"
	ExecutionRunning         ExecutionState = "Running"
	ExecutionFinished        ExecutionState = "Finished"
)

// ExecutionStatus is the node agent's record of one attempt. Guest and
// repository text in it is bounded and escaped.
type ExecutionStatus struct {
	// attempt this record is of; a record of another attempt than
	// status.attempt is stale.
	Attempt int32 `json:"attempt"`

	// state is how far the agent is.
	State ExecutionState `json:"state"`

	// activity is what the agent is doing now, for people.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Activity string `json:"activity,omitempty"`

	// accelerator the VMs run under.
	// +optional
	Accelerator Accelerator `json:"accelerator,omitempty"`

	// manifestDigest is the digest of the baked manifest the VMs boot from.
	// +kubebuilder:validation:MaxLength=71
	// +optional
	ManifestDigest string `json:"manifestDigest,omitempty"`

	// source is what was read from the repository before any VM existed.
	// +optional
	Source *SourceStatus `json:"source,omitempty"`

	// trees are the executed trees, in the order they were started.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=3
	// +optional
	Trees []TreeStatus `json:"trees,omitempty"`

	// cacheAudit is the check of the mirror's cache against the lockfiles; absent if
	// nothing was provisioned.
	// +optional
	CacheAudit *CacheAudit `json:"cacheAudit,omitempty"`

	// failure says why the attempt ended without full evidence; absent if it did
	// not.
	// +optional
	Failure *Outcome `json:"failure,omitempty"`

	// cleaned is true once nothing of the attempt is left on the node.
	// +optional
	Cleaned bool `json:"cleaned,omitempty"`

	// startedAt is when the agent took up the attempt.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// finishedAt is when state became Finished.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
}

// Ecosystem is a package manager's ecosystem.
//
// +kubebuilder:validation:Enum=npm;pip;uv
type Ecosystem string

// The ecosystems a tree can be detected as.
const (
	EcosystemNPM Ecosystem = "npm"
	EcosystemPip Ecosystem = "pip"
	EcosystemUV  Ecosystem = "uv"
)

// SourceStatus is what was read from the repository before any VM existed.
type SourceStatus struct {
	// digest is the SHA-256 of the source's bytes.
	// +kubebuilder:validation:MaxLength=71
	Digest string `json:"digest"`

	// ecosystem detected from the root files of every tree.
	Ecosystem Ecosystem `json:"ecosystem"`

	// runtime is the name of the selected runtime of the profile.
	// +kubebuilder:validation:MaxLength=63
	Runtime string `json:"runtime"`

	// selected is that runtime in full, as this node has baked it.
	// +optional
	Selected *RuntimeRecord `json:"selected,omitempty"`

	// packages counts the packages in the candidate's lockfile.
	Packages int32 `json:"packages"`
}

// TreeName is a tree's part in the proof.
//
// +kubebuilder:validation:Enum=Base;RegressionTest;Candidate
type TreeName string

// The trees of a regression proof, in order of execution.
const (
	TreeBase           TreeName = "Base"
	TreeRegressionTest TreeName = "RegressionTest"
	TreeCandidate      TreeName = "Candidate"
)

// TreeState is how far the VM of a tree is.
//
// +kubebuilder:validation:Enum=Booting;Provisioning;Switching;Verifying;Destroyed;Cancelled
type TreeState string

// The states of a tree's VM, in order. The last two are ends: Cancelled, if its VM was
// destroyed because another tree had decided the run.
const (
	TreeBooting      TreeState = "Booting"
	TreeProvisioning TreeState = "Provisioning"
	TreeSwitching    TreeState = "Switching"
	TreeVerifying    TreeState = "Verifying"
	TreeDestroyed    TreeState = "Destroyed"
	TreeCancelled    TreeState = "Cancelled"
)

// TreeStatus is the record of one tree in its own VM.
type TreeStatus struct {
	// name is the tree's part in the proof.
	Name TreeName `json:"name"`

	// commit is the full id of the commit.
	// +kubebuilder:validation:MaxLength=40
	Commit string `json:"commit"`

	// tree is the id of the git tree that was on the VM's disk.
	// +kubebuilder:validation:MaxLength=40
	Tree string `json:"tree"`

	// files counts the files of the tree.
	Files int32 `json:"files"`

	// state is how far the VM is.
	State TreeState `json:"state"`

	// timings of the VM.
	// +optional
	Timings VMTimings `json:"timings,omitempty"`

	// bootRetries counts boots that gave no hello and were repeated.
	// +optional
	BootRetries int32 `json:"bootRetries,omitempty"`

	// networkInVerification is true if the VM had any network device in
	// verification. It is read from the QEMU arguments, and must be false.
	// +optional
	NetworkInVerification *bool `json:"networkInVerification,omitempty"`

	// commands in the order they ran.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Commands []CommandStatus `json:"commands,omitempty"`

	// relay counts what the connector carried in provisioning.
	// +optional
	Relay *RelayStatus `json:"relay,omitempty"`
}

// VMTimings are the durations of a VM's steps, in milliseconds.
type VMTimings struct {
	// boot is from QEMU's exec to the guest's hello.
	// +optional
	BootMillis int64 `json:"bootMillis,omitempty"`
	// provision is from hello to the end of the last provisioning command.
	// +optional
	ProvisionMillis int64 `json:"provisionMillis,omitempty"`
	// phaseSwitch is from the power-off request to the hello in verification.
	// +optional
	PhaseSwitchMillis int64 `json:"phaseSwitchMillis,omitempty"`
	// powerOff is the part of the phase switch until QEMU was gone.
	// +optional
	PowerOffMillis int64 `json:"powerOffMillis,omitempty"`
	// verify is from the hello in verification to the end of the last command.
	// +optional
	VerifyMillis int64 `json:"verifyMillis,omitempty"`
	// destroy is from the decision to destroy until nothing was left.
	// +optional
	DestroyMillis int64 `json:"destroyMillis,omitempty"`
}

// RelayStatus counts what the connector carried.
type RelayStatus struct {
	// connections opened to the mirror.
	Connections int64 `json:"connections"`
	// failed counts connections that ended because the guest or the mirror could not
	// be reached.
	// +optional
	Failed int64 `json:"failed,omitempty"`
	// refused counts the guest's demands for a connection that were dropped because
	// too many were open and waiting.
	// +optional
	Refused int64 `json:"refused,omitempty"`
	// toMirrorBytes counts bytes from the guest to the mirror.
	ToMirrorBytes int64 `json:"toMirrorBytes"`
	// toGuestBytes counts bytes from the mirror to the guest.
	ToGuestBytes int64 `json:"toGuestBytes"`
}

// VMPhase is a VM's network phase.
//
// +kubebuilder:validation:Enum=provisioning;verification
type VMPhase string

// The network phases of a VM.
const (
	VMProvisioning VMPhase = "provisioning"
	VMVerification VMPhase = "verification"
)

// Network is the network a command had.
//
// +kubebuilder:validation:Enum=none;package_proxy
type Network string

// The networks a command can have.
const (
	NetworkNone         Network = "none"
	NetworkPackageProxy Network = "package_proxy"
)

// Classification is what a command's exit status and report say together.
//
// +kubebuilder:validation:Enum=succeeded;failed;passed;inconclusive
type Classification string

// The classes of a finished command. A command without a report is succeeded or
// failed by its exit status; a test command is passed, failed or inconclusive.
const (
	ClassSucceeded    Classification = "succeeded"
	ClassFailed       Classification = "failed"
	ClassPassed       Classification = "passed"
	ClassInconclusive Classification = "inconclusive"
)

// CommandStatus is the record of one finished command in the worker container.
type CommandStatus struct {
	// name is the command's name in its plan: install, rebuild, suite, regression,
	// sentinel.
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name"`

	// argv as executed.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Argv []string `json:"argv"`

	// phase the VM was in.
	Phase VMPhase `json:"phase"`

	// network the command had.
	Network Network `json:"network"`

	// exitCode is the exit status; absent if a signal or timeout ended it.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`

	// signal that ended the command.
	// +optional
	Signal int32 `json:"signal,omitempty"`

	// timedOut is true if the command's time limit ended it.
	// +optional
	TimedOut bool `json:"timedOut,omitempty"`

	// durationMillis of the command as the agent measured it.
	DurationMillis int64 `json:"durationMillis"`

	// classification from exit status and report.
	Classification Classification `json:"classification"`

	// report holds the counts of the test report, if a valid one was read.
	// +optional
	Report *ReportCounts `json:"report,omitempty"`

	// resultsDigest is the SHA-256 over the sorted ids and results of all tests in
	// the report.
	// +kubebuilder:validation:MaxLength=71
	// +optional
	ResultsDigest string `json:"resultsDigest,omitempty"`

	// comparison with the results of the trusted tree, test by test; on the
	// candidate's test commands only.
	// +optional
	Comparison *TestComparison `json:"comparison,omitempty"`

	// sentinel counts the planted failing tests; on the command sentinel only.
	// +optional
	Sentinel *SentinelStatus `json:"sentinel,omitempty"`

	// problem says why the report or the combination did not count.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Problem string `json:"problem,omitempty"`

	// outputTail is the end of what the command printed, escaped.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	OutputTail string `json:"outputTail,omitempty"`
}

// ReportCounts are the counts of one JUnit report.
type ReportCounts struct {
	// suites in the report.
	Suites int32 `json:"suites"`
	// tests in the report.
	Tests int32 `json:"tests"`
	// failures among them, errors included.
	Failures int32 `json:"failures"`
	// skipped among them.
	Skipped int32 `json:"skipped"`
}

// TestComparison holds a report of the candidate against one of a trusted tree,
// test by test. Tests that share an id are counted.
type TestComparison struct {
	// with names the command compared with, such as Base/suite.
	// +kubebuilder:validation:MaxLength=64
	With string `json:"with"`
	// expected counts the trusted tree's tests that must pass on the candidate.
	Expected int32 `json:"expected"`
	// passed counts those of them that did.
	Passed int32 `json:"passed"`
	// missing are those of them that the candidate's report does not have.
	// +optional
	Missing *TestNames `json:"missing,omitempty"`
	// failing are those of them that failed.
	// +optional
	Failing *TestNames `json:"failing,omitempty"`
	// skipped are those of them that were skipped, or marked as to do or as an
	// expected failure.
	// +optional
	Skipped *TestNames `json:"skipped,omitempty"`
}

// TestNames counts tests and names some of them.
type TestNames struct {
	// count of all.
	Count int32 `json:"count"`
	// names of the first few, in order, escaped.
	// +kubebuilder:validation:MaxItems=5
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=atomic
	// +optional
	Names []string `json:"names,omitempty"`
}

// SentinelStatus counts the failing tests that were planted beside copies of the
// regression tests in the candidate's VM.
type SentinelStatus struct {
	// planted counts the planted tests; every one must fail.
	Planted int32 `json:"planted"`
	// reported counts those that the report has as failed, and as nothing else.
	Reported int32 `json:"reported"`
	// others counts the failures in the report that are of no planted test; it must
	// be 0.
	// +optional
	Others int32 `json:"others,omitempty"`
}
