package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ZTRun asks for one proof over one untrusted repository: does the regression
// test fail on the base and pass on the candidate, in disposable VMs without a
// network?
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ztr,categories=zt
// +kubebuilder:selectablefield:JSONPath=`.status.nodeName`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Verdict",type=string,JSONPath=`.status.outcome.result`
// +kubebuilder:printcolumn:name="Detail",type=string,JSONPath=`.status.outcome.detail`,priority=1
// +kubebuilder:printcolumn:name="Paused",type=string,JSONPath=`.status.conditions[?(@.type=="Paused")].reason`,priority=1
// +kubebuilder:printcolumn:name="Node",type=string,JSONPath=`.status.nodeName`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ZTRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ZTRunSpec   `json:"spec"`
	Status ZTRunStatus `json:"status,omitempty"`
}

// ZTRunList is a list of ZTRuns.
//
// +kubebuilder:object:root=true
type ZTRunList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ZTRun `json:"items"`
}

// ZTRunSpec is what the user asks for. It is immutable but for suspend and
// ttlSecondsAfterFinished: a changed question is a new run.
//
// +kubebuilder:validation:XValidation:rule="self.source == oldSelf.source && self.proof == oldSelf.proof",message="source and proof are immutable: create a new ZTRun"
// +kubebuilder:validation:XValidation:rule="has(self.profileRef) == has(oldSelf.profileRef) && (!has(self.profileRef) || self.profileRef == oldSelf.profileRef)",message="profileRef is immutable: create a new ZTRun"
// +kubebuilder:validation:XValidation:rule="has(self.policyRef) == has(oldSelf.policyRef) && (!has(self.policyRef) || self.policyRef == oldSelf.policyRef)",message="policyRef is immutable: create a new ZTRun"
// +kubebuilder:validation:XValidation:rule="has(self.limits) == has(oldSelf.limits) && (!has(self.limits) || self.limits == oldSelf.limits)",message="limits is immutable: create a new ZTRun"
type ZTRunSpec struct {
	// profileRef names the ZTProfile that says what the VMs are.
	// +kubebuilder:default={name: "default"}
	// +optional
	ProfileRef ObjectRef `json:"profileRef,omitempty"`

	// policyRef names the ProxyPolicy for provisioning; without it the profile's
	// policy applies.
	// +optional
	PolicyRef *ObjectRef `json:"policyRef,omitempty"`

	// source is where the repository's commits are read from.
	Source Source `json:"source"`

	// proof says which trees are run and what they must show.
	Proof Proof `json:"proof"`

	// limits narrows the profile's time limits; a larger value than the
	// profile's has no effect.
	// +optional
	Limits *RunLimits `json:"limits,omitempty"`

	// ttlSecondsAfterFinished deletes the run this many seconds after it
	// completed. Without it the run is kept. A paused run is not complete: it is kept
	// until it is resumed or deleted.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`

	// suspend holds a run that has not been placed on a node yet. It has no
	// effect on a placed run; delete that one to stop it. A paused run that is resumed
	// while it is suspended waits for both.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// ObjectRef names a cluster-scoped object of this API.
type ObjectRef struct {
	// name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Name string `json:"name"`
}

// Source is where the repository's commits are read from; exactly one member.
type Source struct {
	// bundle is a git bundle kept in a ConfigMap.
	Bundle *BundleSource `json:"bundle"`
}

// BundleSource is a git bundle that carries every commit of the proof with its
// full history down to the bundle's own roots (no prerequisites).
type BundleSource struct {
	// configMapRef names the ConfigMap, in the run's namespace, whose binaryData
	// holds the bundle.
	ConfigMapRef ConfigMapKeyRef `json:"configMapRef"`
}

// ConfigMapKeyRef names one key of a ConfigMap.
type ConfigMapKeyRef struct {
	// name of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`
	Name string `json:"name"`

	// key within it.
	// +kubebuilder:default=bundle
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]+$`
	// +optional
	Key string `json:"key,omitempty"`
}

// ProofMode is the kind of question a run answers.
//
// +kubebuilder:validation:Enum=RegressionProof
type ProofMode string

// RegressionProof asks that the regression test fails on the base and passes on
// the candidate, and that the whole suite passes on both.
const RegressionProof ProofMode = "RegressionProof"

// Proof says which trees are run and what they must show.
//
// +kubebuilder:validation:XValidation:rule="self.base.commit != self.regressionTest.commit",message="regressionTest must be another commit than base: it adds the failing test"
// +kubebuilder:validation:XValidation:rule="self.regressionTest.commit != self.candidate.commit",message="candidate must be another commit than regressionTest: it adds the fix"
type Proof struct {
	// mode is the kind of proof.
	// +kubebuilder:default=RegressionProof
	// +optional
	Mode ProofMode `json:"mode,omitempty"`

	// base is the tree with the bug; its own suite must pass.
	Base TreeRef `json:"base"`

	// regressionTest is the base with the regression test added; the targets must
	// fail on it.
	RegressionTest TreeRef `json:"regressionTest"`

	// candidate is the regressionTest tree with the proposed fix; targets and the
	// whole suite must pass on it.
	Candidate TreeRef `json:"candidate"`

	// targets are the regression test's files, relative to the repository root.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	Targets []TargetPath `json:"targets"`
}

// TargetPath is a file path relative to the repository root: plain segments of
// letters, digits, dot, underscore and dash, none of which starts with a dash or
// a dot.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=255
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$`
type TargetPath string

// TreeRef names one tree of the proof by the commit that has it.
type TreeRef struct {
	// commit is the full SHA-1 object id of the commit, in lower case.
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{40}$`
	Commit string `json:"commit"`
}

// RunLimits narrows the profile's time limits.
type RunLimits struct {
	// provisioningSeconds bounds one provisioning command, on the KVM clock.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=21600
	// +optional
	ProvisioningSeconds *int32 `json:"provisioningSeconds,omitempty"`

	// commandSeconds bounds one verification command, on the KVM clock.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=21600
	// +optional
	CommandSeconds *int32 `json:"commandSeconds,omitempty"`

	// runSeconds bounds the run from its placement to its end, or from the placement
	// after it was resumed, in wall-clock time. A pause does not count.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +optional
	RunSeconds *int32 `json:"runSeconds,omitempty"`
}
