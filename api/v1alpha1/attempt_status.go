package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxAttempts bounds the executions of one run, whatever made each of them necessary.
const MaxAttempts = 8

// AttemptEnd is how an attempt ended that left its run without an outcome.
//
// +kubebuilder:validation:Enum=Interrupted;Paused
type AttemptEnd string

const (
	// AttemptInterrupted: a node, pod, agent or VM went away; the run starts again by
	// itself, once in a row.
	AttemptInterrupted AttemptEnd = "Interrupted"
	// AttemptPaused: provisioning failed for a reason that people can mend; the run
	// starts again when they say so.
	AttemptPaused AttemptEnd = "Paused"
)

// AttemptRecord is what remains of an attempt that left its run without an outcome.
type AttemptRecord struct {
	// attempt is its number.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8
	Attempt int32 `json:"attempt"`

	// end is how it ended.
	End AttemptEnd `json:"end"`

	// detail is the catalogue's code of why.
	// +kubebuilder:validation:MaxLength=64
	Detail Detail `json:"detail"`

	// subject names what the detail concerns, as an outcome's does.
	// +kubebuilder:validation:MaxLength=214
	// +optional
	Subject string `json:"subject,omitempty"`

	// message says what was found.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`

	// nodeName is the node it ran on; absent if it never came to one.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	NodeName string `json:"nodeName,omitempty"`

	// endedAt is when the end was recorded.
	EndedAt metav1.Time `json:"endedAt"`

	// tornDownAt is when nothing of it was left.
	// +optional
	TornDownAt *metav1.Time `json:"tornDownAt,omitempty"`
}

// Ended is the record of the current attempt if that has ended without an outcome,
// else nil.
func (s *ZTRunStatus) Ended() *AttemptRecord {
	for i := range s.Attempts {
		if s.Attempts[i].Attempt == s.Attempt {
			return &s.Attempts[i]
		}
	}
	return nil
}

// RuntimeRecord is the runtime that was selected for a run: what its repository code
// runs in, and what that boots from.
type RuntimeRecord struct {
	// ecosystem the selection was made for.
	Ecosystem Ecosystem `json:"ecosystem"`

	// name of the runtime in the profile.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// language it interprets.
	Language Language `json:"language"`

	// version of the interpreter.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Version string `json:"version"`

	// managerVersion is the version of the ecosystem's package manager in it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	ManagerVersion string `json:"managerVersion"`

	// image is the pinned image it was baked from.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image"`

	// guest is the pinned image of the guest kernel and initial RAM disk.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Guest string `json:"guest"`
}
