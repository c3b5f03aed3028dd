package report

// VM is vm.json: the steps of a VM, without a cluster around it.
type VM struct {
	Header
	Accelerator string `json:"accelerator"`
	QEMU        string `json:"qemu"`
	// Millis: bootToHello, nodeFirst, nodeWarm, phaseSwitch and, part of it, powerOff.
	Millis map[string]Figure `json:"millis"`
	// Demo is what the last demo's run measured of itself; absent if there was none.
	Demo *Run `json:"demo,omitempty"`
}
