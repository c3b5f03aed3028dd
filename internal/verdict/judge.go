package verdict

import "github.com/ai-dossier/zt-operator/api/v1alpha1"

// Judge says what an execution proves so far. final is false while more evidence
// can still change the outcome; outcome is then what would be said if none came.
func Judge(execution *v1alpha1.ExecutionStatus, proof v1alpha1.Proof) (outcome v1alpha1.Outcome, final bool) {
	return v1alpha1.Outcome{Result: v1alpha1.ResultInconclusive, Detail: v1alpha1.DetailEvidenceIncomplete}, false
}
