package policy

import (
	"net/netip"
	"slices"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// Forbidden returns the destinations that are refused under a policy: those that
// are refused to every one and the policy's own, in a stable order. A range inside
// another is left out: Squid warns about overlaps, and a warning is refused.
func Forbidden(spec v1alpha1.ProxyPolicySpec) []netip.Prefix {
	all := slices.Clone(builtinForbidden)
	for _, text := range spec.ForbiddenDestinations {
		if prefix, err := parseDestination(text); err == nil {
			all = append(all, prefix)
		}
	}
	slices.SortFunc(all, func(a, b netip.Prefix) int {
		if order := a.Addr().Compare(b.Addr()); order != 0 {
			return order
		}
		return a.Bits() - b.Bits()
	})
	var kept []netip.Prefix
	for _, prefix := range all {
		if n := len(kept); n == 0 || !kept[n-1].Contains(prefix.Addr()) {
			kept = append(kept, prefix)
		}
	}
	return kept
}
