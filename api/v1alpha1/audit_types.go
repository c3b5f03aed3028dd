package v1alpha1

// EgressAudit is the second judgement of Squid's access log: every request that
// Squid let out is judged again by the policy evaluator, under the policy that
// this attempt's Squid was given.
type EgressAudit struct {
	// judged counts the log entries that were judged again: the requests and
	// tunnels that Squid let out.
	Judged int64 `json:"judged"`
	// violations counts those of them that the evaluator would not have let out,
	// and the log lines that cannot be read.
	Violations int64 `json:"violations"`
	// found are the first violations.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Found []EgressViolation `json:"found,omitempty"`
}

// EgressViolation is one request that Squid let out and the evaluator would not.
type EgressViolation struct {
	// seen is the rule that Squid logged.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Seen string `json:"seen,omitempty"`
	// expected is the rule by which the evaluator decides.
	// +kubebuilder:validation:MaxLength=64
	Expected string `json:"expected"`
	// request is the URL as logged, escaped and cut.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Request string `json:"request,omitempty"`
}

// CacheFinding is why a file in the mirror's cache is not what a lockfile names.
//
// +kubebuilder:validation:MaxLength=64
type CacheFinding string

// CacheAudit says whether every package file in the mirror's cache is one that a
// lockfile of the run names, byte for byte. It is made after each tree's
// provisioning, by hashes taken beside the mirror.
type CacheAudit struct {
	// trees whose provisioning was followed by an audit.
	// +listType=set
	// +kubebuilder:validation:MaxItems=3
	// +optional
	Trees []TreeName `json:"trees,omitempty"`
	// checked counts the files in the cache at the last audit.
	Checked int64 `json:"checked"`
	// admitted counts those of them that a lockfile of an executed tree names with
	// the digest they have.
	Admitted int64 `json:"admitted"`
	// rejected counts the others, of all audits together.
	Rejected int64 `json:"rejected"`
	// findings are the first rejected files.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Findings []RejectedArtifact `json:"findings,omitempty"`
	// problem says why an audit could not be made; absent if all were.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Problem string `json:"problem,omitempty"`
}

// RejectedArtifact is one package file that no lockfile of the run admits.
type RejectedArtifact struct {
	// artifact is the file's path in the mirror's cache, escaped and cut.
	// +kubebuilder:validation:MaxLength=256
	Artifact string `json:"artifact"`
	// finding says why it is rejected, such as hash_mismatch or not_in_lock.
	Finding CacheFinding `json:"finding"`
}
