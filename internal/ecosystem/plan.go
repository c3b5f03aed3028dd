package ecosystem

import (
	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/npm"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/pip"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/uv"
)

// PlanFor returns the commands for a tree that Detect accepted. targets are the
// regression test's files; mirrorURL is where the worker finds the mirror in
// provisioning, such as http://127.0.0.1:7481/.
func PlanFor(detection Detection, runtime v1alpha1.Runtime, targets []string, mirrorURL string) Plan {
	switch detection.Ecosystem {
	case v1alpha1.EcosystemNPM:
		return npm.Plan(detection.Runner, targets, mirrorURL)
	case v1alpha1.EcosystemPip:
		return pip.Plan(targets, mirrorURL)
	case v1alpha1.EcosystemUV:
		return uv.Plan(targets, mirrorURL)
	}
	return Plan{}
}
