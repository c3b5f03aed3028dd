package ecosystem

import (
	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

// WantedFiles maps the names of root files whose content Detect needs to the most
// bytes of each that it reads. A larger file is left out of RootFiles.Content, and
// Detect refuses it. The caller owns the map.
func WantedFiles() map[string]int64 {
	return map[string]int64{}
}

// Detect returns what the root's files say. Its error is a *Refusal.
func Detect(root RootFiles) (Detection, error) {
	return Detection{}, refusal.New(v1alpha1.DetailNoEcosystem, "", "no detection yet")
}
