package envtest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/ai-dossier/zt-operator/test/builders"
)

// TestANodeAgentWritesItsOwnRecordsOnly holds the shipped admission policies to what RBAC
// cannot say. An agent may be in the hands of what it ran.
func TestANodeAgentWritesItsOwnRecordsOnly(t *testing.T) {
	p := start(t)
	p.toPlaced()
	forged := map[string]any{"result": "reproduced_and_fixed", "detail": "reproduced_and_fixed", "message": "trust me"}
	profile := strings.ToLower(t.Name())
	if err := createProfile(t.Context(), builders.Profile(profile), node1); err != nil {
		t.Fatal(err)
	}

	for name, write := range map[string]struct {
		node, kind string
		key        types.NamespacedName
		status     map[string]any
		want       string
	}{
		"a verdict of its own":              {node1, "ZTRun", p.key, map[string]any{"outcome": forged}, "not status.outcome"},
		"conditions of its own":             {node1, "ZTRun", p.key, map[string]any{"phase": "Complete"}, "not status.phase"},
		"a run of another node":             {"node-2", "ZTRun", p.key, map[string]any{"execution": map[string]any{"attempt": 1, "state": "Running"}}, "its own node only"},
		"a run, without a node to its name": {"", "ZTRun", p.key, map[string]any{"execution": map[string]any{"attempt": 1, "state": "Running"}}, "its own node only"},
		"another node's bake":               {"node-2", "ZTProfile", types.NamespacedName{Name: profile}, map[string]any{"nodes": []any{map[string]any{"name": node1, "state": "Failed"}}}, "its own node's entry"},
		"a profile's count of nodes":        {node1, "ZTProfile", types.NamespacedName{Name: profile}, map[string]any{"bakedNodes": 9}, "not status.bakedNodes"},
	} {
		t.Run(name, func(t *testing.T) {
			err := refused(t.Context(), func() error {
				return applyStatus(t.Context(), write.node, write.kind, write.key, "somebody", write.status)
			})
			if err == nil || !strings.Contains(err.Error(), write.want) {
				t.Errorf("the API server says %v, want a refusal with %q", err, write.want)
			}
		})
	}
}

// refused writes until the API server refuses: policies take effect a moment after they
// were created.
func refused(ctx context.Context, write func() error) (refusal error) {
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		switch err := write(); {
		case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
			refusal = err
			return true, nil
		default:
			return false, err
		}
	})
	if err != nil {
		return fmt.Errorf("not refused: %w", err)
	}
	return refusal
}
