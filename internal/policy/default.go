package policy

import (
	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/registries"
)

// Default returns the policy the operator ships: package documents and artifacts
// of the public registries, nothing else.
func Default() v1alpha1.ProxyPolicySpec {
	spec := v1alpha1.ProxyPolicySpec{
		Methods:        append([]v1alpha1.PolicyMethod(nil), ceilingMethods...),
		MaxResponseMiB: MaxResponseMiB,
	}
	for _, registry := range registries.All() {
		host := v1alpha1.PolicyHost{Name: registry.Name, Host: registry.Host, Ecosystems: registry.Ecosystems}
		for _, path := range registry.Paths {
			host.Paths = append(host.Paths, v1alpha1.PathPattern(path))
		}
		spec.Hosts = append(spec.Hosts, host)
	}
	return spec
}
