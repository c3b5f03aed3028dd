package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// RunPhase is a run's state in one word, derived from its conditions for people.
//
// +kubebuilder:validation:Enum=Pending;Suspended;Placing;ReadingSource;StartingProxy;Running;Judging;TearingDown;Paused;Complete
type RunPhase string

// The phases of a run, in order.
const (
	PhasePending       RunPhase = "Pending"
	PhaseSuspended     RunPhase = "Suspended"
	PhasePlacing       RunPhase = "Placing"
	PhaseReadingSource RunPhase = "ReadingSource"
	PhaseStartingProxy RunPhase = "StartingProxy"
	PhaseRunning       RunPhase = "Running"
	PhaseJudging       RunPhase = "Judging"
	PhaseTearingDown   RunPhase = "TearingDown"
	PhasePaused        RunPhase = "Paused"
	PhaseComplete      RunPhase = "Complete"
)

// ZTRunStatus is what was observed. The operator owns all of it but execution,
// which the agent of the run's node owns.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.runtime) || has(self.runtime)",message="the runtime of a run is recorded once"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.attempts) || has(self.attempts)",message="attempts are only ever added"
type ZTRunStatus struct {
	// phase is the run's state in one word, derived from the conditions.
	// +optional
	Phase RunPhase `json:"phase,omitempty"`

	// observedGeneration is the generation of the spec this status was made from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Admitted, Scheduled, SourceRead, ProxyReady, Provisioned,
	// Isolated, Verified, TornDown and Complete; and Paused, once the run was.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// outcome is the final answer; absent until there is one.
	// +optional
	Outcome *Outcome `json:"outcome,omitempty"`

	// nodeName is the node kube-scheduler bound the vm pod to.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	NodeName string `json:"nodeName,omitempty"`

	// attempt counts executions of this run from 1, at most 8. After an interruption,
	// or when a paused run is resumed, the run starts from scratch under the next
	// number.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`

	// attempts are those that ended without an outcome, oldest first.
	// +listType=map
	// +listMapKey=attempt
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="oldSelf.all(o, self.exists(n, n.attempt == o.attempt && n.end == o.end && n.detail == o.detail && n.endedAt == o.endedAt))",message="an attempt is recorded once"
	// +optional
	Attempts []AttemptRecord `json:"attempts,omitempty"`

	// runtime is what was selected for the repository, recorded once, before the first
	// VM may provision. Every later attempt must come to the same.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the runtime of a run is recorded once"
	// +optional
	Runtime *RuntimeRecord `json:"runtime,omitempty"`

	// vmPod is the pod whose cgroup and network namespace hold the VMs.
	// +optional
	VMPod *PodRef `json:"vmPod,omitempty"`

	// proxy describes the package mirror and Squid of this attempt.
	// +optional
	Proxy *ProxyStatus `json:"proxy,omitempty"`

	// execution is the node agent's record; nobody else writes it.
	// +optional
	Execution *ExecutionStatus `json:"execution,omitempty"`

	// egress sums up Squid's access log.
	// +optional
	Egress *EgressStatus `json:"egress,omitempty"`

	// timings are the moments of the operator's own steps.
	// +optional
	Timings *RunTimings `json:"timings,omitempty"`
}

// Outcome is a run's final answer.
type Outcome struct {
	// result is the verdict, or the class of refusal or failure.
	Result Result `json:"result"`

	// detail is a code of the reason catalogue that says why.
	// +kubebuilder:validation:MaxLength=64
	Detail Detail `json:"detail"`

	// subject names the file, field, commit or command concerned: bounded, of a
	// narrow alphabet, or absent.
	// +kubebuilder:validation:MaxLength=214
	// +optional
	Subject string `json:"subject,omitempty"`

	// message says what was found and what to do next.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// PodRef names one incarnation of a pod in the run namespace.
type PodRef struct {
	// name of the pod.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// uid of that incarnation.
	UID types.UID `json:"uid"`
}

// ProxyStatus describes the package mirror and Squid of one attempt.
type ProxyStatus struct {
	// mirrorAddress is the mirror pod's IPv4 address and port, the only address
	// the connector dials. Fixed before the first VM exists.
	// +kubebuilder:validation:MaxLength=21
	// +optional
	MirrorAddress string `json:"mirrorAddress,omitempty"`

	// policyDigest is the SHA-256 of the policy that was applied.
	// +kubebuilder:validation:MaxLength=71
	// +optional
	PolicyDigest string `json:"policyDigest,omitempty"`

	// configDigest is the SHA-256 of the rendered Squid configuration.
	// +kubebuilder:validation:MaxLength=71
	// +optional
	ConfigDigest string `json:"configDigest,omitempty"`
}

// EgressStatus sums up Squid's access log of one attempt.
type EgressStatus struct {
	// admitted counts requests that a policy rule allowed and that were answered.
	Admitted int64 `json:"admitted"`
	// denied counts requests that the policy refused.
	Denied int64 `json:"denied"`
	// failed counts allowed requests that the registry or its TLS failed.
	Failed int64 `json:"failed"`
	// redirects counts replies that were redirects.
	Redirects int64 `json:"redirects"`
	// bytes is the sum of reply sizes, in bytes.
	Bytes int64 `json:"bytes"`
	// logDigest is the SHA-256 of the log as it was read.
	// +kubebuilder:validation:MaxLength=71
	// +optional
	LogDigest string `json:"logDigest,omitempty"`
	// log is an excerpt of the log, in its order: the first requests that were
	// admitted, denied and failed. Escaped: their text is hostile.
	// +kubebuilder:validation:MaxItems=96
	// +kubebuilder:validation:items:MaxLength=256
	// +optional
	Log []string `json:"log,omitempty"`
	// truncated is true if the log was longer than what was read of it.
	// +optional
	Truncated bool `json:"truncated,omitempty"`
	// rules counts log entries per deciding rule, most frequent first.
	// +listType=map
	// +listMapKey=rule
	// +kubebuilder:validation:MaxItems=32
	// +optional
	Rules []RuleCount `json:"rules,omitempty"`
	// failures counts the failed requests by what failed them, most frequent first.
	// Requests that the mirror itself broke off are not among them.
	// +listType=map
	// +listMapKey=reason
	// +kubebuilder:validation:MaxItems=32
	// +optional
	Failures []FailureCount `json:"failures,omitempty"`
	// hosts counts log entries per registry host, most frequent first.
	// +listType=map
	// +listMapKey=host
	// +kubebuilder:validation:MaxItems=32
	// +optional
	Hosts []HostCount `json:"hosts,omitempty"`
	// audit is the evaluator's second judgement of the log; absent if there was
	// none.
	// +optional
	Audit *EgressAudit `json:"audit,omitempty"`
}

// RuleCount counts log entries of one deciding rule.
type RuleCount struct {
	// rule is the name the Squid configuration gave the rule.
	// +kubebuilder:validation:MaxLength=64
	Rule string `json:"rule"`
	// count of entries.
	Count int64 `json:"count"`
}

// FailureCount is how many requests failed for a reason of the catalogue.
type FailureCount struct {
	// reason is the code, such as registry_unreachable.
	// +kubebuilder:validation:MaxLength=64
	Reason Detail `json:"reason"`
	// count of requests.
	Count int64 `json:"count"`
}

// HostCount counts log entries of one host.
type HostCount struct {
	// host name.
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host"`
	// count of entries.
	Count int64 `json:"count"`
}

// RunTimings are the moments of the operator's own steps.
type RunTimings struct {
	// attemptStarted is when the current attempt began; absent for the first, which
	// began with the run.
	// +optional
	AttemptStarted *metav1.Time `json:"attemptStarted,omitempty"`
	// admitted is when the run was admitted.
	// +optional
	Admitted *metav1.Time `json:"admitted,omitempty"`
	// scheduled is when the vm pod was seen running on a node, for the first time since
	// the run was created or resumed.
	// +optional
	Scheduled *metav1.Time `json:"scheduled,omitempty"`
	// proxyReady is when mirror and Squid were both ready.
	// +optional
	ProxyReady *metav1.Time `json:"proxyReady,omitempty"`
	// judged is when the outcome was recorded.
	// +optional
	Judged *metav1.Time `json:"judged,omitempty"`
	// completed is when nothing of the run was left.
	// +optional
	Completed *metav1.Time `json:"completed,omitempty"`
}
