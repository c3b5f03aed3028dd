package policy

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// canonicalVersion heads the canonical form, so that a change of form changes
// every digest.
const canonicalVersion = "zt-proxy-policy-v1"

// Digest returns the SHA-256 of a policy in canonical form, as sha256:<hex>.
// Defaults are filled in, and what the API calls a set is sorted, so that two
// policies that admit the same for the same reasons have one digest.
func Digest(spec v1alpha1.ProxyPolicySpec) string {
	canonical, err := json.Marshal(struct {
		Version string                   `json:"version"`
		Spec    v1alpha1.ProxyPolicySpec `json:"spec"`
	}{canonicalVersion, normal(spec)})
	if err != nil {
		// Strings and integers always marshal.
		panic(fmt.Sprintf("marshal a proxy policy: %v", err))
	}
	return TextDigest(string(canonical))
}

// TextDigest returns the SHA-256 of a text, such as a rendered configuration, as
// sha256:<hex>.
func TextDigest(text string) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text)))
}

// normal returns a deep copy of spec with defaults filled in and every set sorted.
func normal(spec v1alpha1.ProxyPolicySpec) v1alpha1.ProxyPolicySpec {
	out := *spec.DeepCopy()
	if len(out.Methods) == 0 {
		out.Methods = append(out.Methods, ceilingMethods...)
	}
	if out.MaxResponseMiB == 0 {
		out.MaxResponseMiB = MaxResponseMiB
	}
	slices.Sort(out.Methods)
	slices.Sort(out.ForbiddenDestinations)
	slices.SortFunc(out.Hosts, func(a, b v1alpha1.PolicyHost) int { return strings.Compare(a.Name, b.Name) })
	for i := range out.Hosts {
		slices.Sort(out.Hosts[i].Ecosystems)
		slices.Sort(out.Hosts[i].Paths)
	}
	return out
}
