package runtimes

import (
	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

// Select returns the newest of the runtimes that carries the manager and satisfies
// every declaration. Its error is a *refusal.Refusal.
func Select(declarations []Declaration, manager v1alpha1.Ecosystem, offered []v1alpha1.Runtime) (v1alpha1.Runtime, error) {
	return v1alpha1.Runtime{}, refusal.New(v1alpha1.DetailRuntimeUnspecified, "", "no runtime selection yet")
}
