package v1alpha1

// Condition types of a ZTRun, in the order they become true.
const (
	// ConditionAdmitted: profile and policy exist, are valid, and some node can
	// run the profile.
	ConditionAdmitted = "Admitted"
	// ConditionScheduled: kube-scheduler bound the vm pod and it runs.
	ConditionScheduled = "Scheduled"
	// ConditionSourceRead: the commits were verified and the plan selected.
	ConditionSourceRead = "SourceRead"
	// ConditionProxyReady: mirror and Squid of this attempt are ready.
	ConditionProxyReady = "ProxyReady"
	// ConditionProvisioned: every executed tree installed its dependencies.
	ConditionProvisioned = "Provisioned"
	// ConditionIsolated: no VM had a network device while repository code ran.
	ConditionIsolated = "Isolated"
	// ConditionVerified: every test command was classified without doubt.
	ConditionVerified = "Verified"
	// ConditionPaused: provisioning failed, nothing of the attempt is left, and the
	// run waits to be resumed. Only on runs that were paused once.
	ConditionPaused = "Paused"
	// ConditionTornDown: no VM, pod, policy or secret of the run is left.
	ConditionTornDown = "TornDown"
	// ConditionComplete: the outcome is final and the run is torn down.
	ConditionComplete = "Complete"
)

// Condition types of the other kinds.
const (
	// ConditionReady of a ZTProfile: at least one node has baked its current spec.
	ConditionReady = "Ready"
	// ConditionNetworkPolicyEnforced of a ZTProfile: on this cluster a connection
	// that a NetworkPolicy denies was seen to fail, beside one that it allows.
	ConditionNetworkPolicyEnforced = "NetworkPolicyEnforced"
	// ConditionValid of a ProxyPolicy: it compiles and stays below the ceiling.
	ConditionValid = "Valid"
)
