package ecosystem

import "github.com/ai-dossier/zt-operator/api/v1alpha1"

// PlanFor returns the commands for a detected tree. targets are the regression
// test's files; mirrorURL is where the worker finds the mirror in provisioning,
// such as http://127.0.0.1:7481/.
func PlanFor(detection Detection, runtime v1alpha1.Runtime, targets []string, mirrorURL string) Plan {
	return Plan{}
}
