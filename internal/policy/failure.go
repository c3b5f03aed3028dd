package policy

import (
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// failures are Squid's error codes by what failed a request on its way to a registry.
var failures = map[string]v1alpha1.Detail{
	"ERR_DNS_FAIL":         v1alpha1.DetailRegistryNameFailed,
	"ERR_CONNECT_FAIL":     v1alpha1.DetailRegistryUnreachable,
	"ERR_CANNOT_FORWARD":   v1alpha1.DetailRegistryUnreachable,
	"ERR_READ_TIMEOUT":     v1alpha1.DetailRegistryTimedOut,
	"ERR_LIFETIME_EXP":     v1alpha1.DetailRegistryTimedOut,
	"ERR_READ_ERROR":       v1alpha1.DetailRegistryReplyBroken,
	"ERR_WRITE_ERROR":      v1alpha1.DetailRegistryReplyBroken,
	"ERR_ZERO_SIZE_OBJECT": v1alpha1.DetailRegistryReplyBroken,
	"ERR_INVALID_RESP":     v1alpha1.DetailRegistryReplyBroken,
	// The mirror left, which says nothing of the registry.
	"ERR_CLIENT_GONE": "",
}

// failure is the reason that a failed entry has in the catalogue, or "" if the
// registry did not fail it.
func (e entry) failure() v1alpha1.Detail {
	code := orElse(e.Err, "")
	switch reason, known := failures[code]; {
	case known:
		return reason
	case code == "ERR_SECURE_CONNECT_FAIL" && strings.Contains(e.ErrDetail, "X509_V_ERR_"):
		return v1alpha1.DetailCertificateUntrusted
	case code == "ERR_SECURE_CONNECT_FAIL":
		return v1alpha1.DetailRegistryTLSFailed
	case code == "" && cannotServe(e.Status):
		return v1alpha1.DetailRegistryError
	}
	return v1alpha1.DetailRegistryFailed
}

// cannotServe is true for a status that says nothing about what was asked for.
func cannotServe(status int) bool { return status >= 500 || status == 429 }
