package policy

import (
	"net/netip"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// Forbidden returns the destinations that are refused under a policy: those that
// every policy refuses, and its own. The network's own rules are made from it too,
// so that they and Squid refuse the same.
func Forbidden(spec v1alpha1.ProxyPolicySpec) []netip.Prefix { return forbidden(spec) }
