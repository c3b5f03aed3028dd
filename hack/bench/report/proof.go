package report

// Proof is proof.json: whole runs on a cluster.
type Proof struct {
	Header
	// Images are the digests of what was measured: operator and node agent.
	Images map[string]string `json:"images"`
	Runs   []Run             `json:"runs"`
	// Millis are the steps over all trees and runs, by ecosystem.
	Millis map[string]map[string]Figure `json:"millis"`
	Record []RecordFigure               `json:"record"`
}

// Run is what one ZTRun shows of itself, and what was seen of its pods from outside.
type Run struct {
	Name        string `json:"name"`
	Ecosystem   string `json:"ecosystem"`
	Runtime     string `json:"runtime"`
	Accelerator string `json:"accelerator"`
	Result      string `json:"result"`
	// Millis: createdToVerdict, agentStartToEnd and, where the run was watched,
	// proxyPodsToReady and proxyPodsToFirstPackage.
	Millis map[string]int64 `json:"millis"`
	// Trees have the steps of each VM: boot, provision, phaseSwitch, powerOff, verify,
	// destroy, and each command by its name.
	Trees map[string]map[string]int64 `json:"trees"`
	// PodPeakBytes is the largest working set that the kubelet told of each pod.
	PodPeakBytes map[string]int64 `json:"podPeakBytes,omitempty"`
}
