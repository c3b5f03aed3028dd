package report

// Lock is lock.json: reading lockfiles of 2,000 packages.
type Lock struct {
	Header
	// Benchmarks by name, such as npm/detect.
	Benchmarks map[string]Benchmark `json:"benchmarks"`
}

// Benchmark is one Go benchmark, measured several times.
type Benchmark struct {
	NanosPerOp       Figure `json:"nanosPerOp"`
	BytesPerOp       Figure `json:"bytesPerOp"`
	AllocationsPerOp Figure `json:"allocationsPerOp"`
}
