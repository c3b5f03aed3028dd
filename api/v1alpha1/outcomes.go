package v1alpha1

// Result is a run's verdict, or the class of its refusal or failure.
//
// +kubebuilder:validation:Enum=reproduced_and_fixed;not_reproduced;not_fixed;regressed;inconclusive;unsupported_environment;invalid_source;not_admitted;provisioning_failed;execution_failed
type Result string

// The verdicts of a regression proof.
const (
	// ResultReproducedAndFixed: the regression test failed on the base, passed on
	// the candidate, and the whole suite passed on both.
	ResultReproducedAndFixed Result = "reproduced_and_fixed"
	// ResultNotReproduced: the regression test passed without the fix.
	ResultNotReproduced Result = "not_reproduced"
	// ResultNotFixed: the regression test still failed on the candidate.
	ResultNotFixed Result = "not_fixed"
	// ResultRegressed: the candidate passed the regression test and broke the suite.
	ResultRegressed Result = "regressed"
	// ResultInconclusive: some command gave no result that can be relied on.
	ResultInconclusive Result = "inconclusive"
)

// The classes of refusal and failure.
const (
	// ResultUnsupportedEnvironment: the repository needs what the profile does not
	// offer; no VM existed.
	ResultUnsupportedEnvironment Result = "unsupported_environment"
	// ResultInvalidSource: the source is missing, damaged or lacks a commit; no VM
	// existed.
	ResultInvalidSource Result = "invalid_source"
	// ResultNotAdmitted: the cluster cannot take the run; nothing was created.
	ResultNotAdmitted Result = "not_admitted"
	// ResultProvisioningFailed: dependencies could not be installed.
	ResultProvisioningFailed Result = "provisioning_failed"
	// ResultExecutionFailed: the VM or the node failed the run.
	ResultExecutionFailed Result = "execution_failed"
)
