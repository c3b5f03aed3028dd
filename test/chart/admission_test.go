package chart

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// TestTheNodeAgentsPoliciesKnowEveryStatusField: a field that is added to a status is
// the operator's until an admission policy says otherwise.
func TestTheNodeAgentsPoliciesKnowEveryStatusField(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(configDir, "rbac", "rbac.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for own, status := range map[string]any{"execution": v1alpha1.ZTRunStatus{}, "nodes": v1alpha1.ZTProfileStatus{}} {
		kind := reflect.TypeOf(status)
		for i := range kind.NumField() {
			field, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
			guard := "object.?status.?" + field + " == oldObject.?status.?" + field + "\n"
			if guarded := strings.Contains(string(text), guard); guarded != (field != own) {
				t.Errorf("%s.%s is guarded: %v; only %s is the node agent's", kind.Name(), field, guarded, own)
			}
		}
	}
}
