package policy

import (
	"github.com/ai-dossier/zt-operator/internal/registries"
)

// ProxpiPort is where the PyPI mirror listens: where the npm mirror does, so that
// connector and NetworkPolicies need not know which of them runs.
const ProxpiPort = VerdaccioPort

// ProxpiParams are one attempt's facts for the PyPI mirror.
type ProxpiParams struct {
	// Proxy is Squid's address and port. The mirror has no DNS: an IP address.
	Proxy string
	// CABundle is the file with the CA of Squid's certificates, the only one the
	// mirror trusts.
	CABundle string
	// Storage is the writable folder; empty for /var/cache/proxpi.
	Storage string
}

// ProxpiEnvironment returns the environment of the PyPI mirror, all the
// configuration there is.
func ProxpiEnvironment(params ProxpiParams) map[string]string {
	if params.Storage == "" {
		params.Storage = "/var/cache/proxpi"
	}
	return map[string]string{
		"HTTPS_PROXY":        "http://" + params.Proxy,
		"REQUESTS_CA_BUNDLE": params.CABundle,
		"PROXPI_INDEX_URL":   "https://" + registries.PyPIHost + "/simple/",
		// Longer than any run: its trees see the same index.
		"PROXPI_INDEX_TTL": "172800",
		"PROXPI_CACHE_DIR": params.Storage,
		// proxpi gives a file up after this. Its own 0.9 s is made for clients that can
		// go upstream themselves.
		"PROXPI_DOWNLOAD_TIMEOUT": "600",
		"PROXPI_CONNECT_TIMEOUT":  "10",
		// Longer than Squid waits for a registry: Squid's answer says what is wrong.
		"PROXPI_READ_TIMEOUT":  "150",
		"PROXPI_LOGGING_LEVEL": "WARNING",
	}
}
