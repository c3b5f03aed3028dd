package report

// Proxy is proxy.json: the real Squid and the real npm mirror of the images, between
// network namespaces, against the real registry.
type Proxy struct {
	Header
	// Squid's version.
	Squid string `json:"squid"`
	// Packages that the lockfile names.
	Packages int `json:"packages"`
	// Millis: squidListens, mirrorAnswers, firstPackage and their sum
	// startToFirstPackage; npm ci of the lockfile: installDirect, installCold,
	// installWarm.
	Millis map[string]Figure `json:"millis"`
	// CPUMillis is the CPU time of an installation: squidCold, mirrorWarm, ….
	CPUMillis map[string]Figure `json:"cpuMillis"`
	// MemoryKiB is proportional memory: squidIdle, mirrorAfterInstalls, ….
	MemoryKiB map[string]Figure `json:"memoryKiB"`
	// Requests that Squid admitted for one cold installation.
	Requests Figure `json:"requests"`
}
