//go:build proxy

package proxy

import (
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
)

// provision runs a project's provisioning plan, as a run would have it, in a worker
// image in the mirror's namespace, and returns that worker.
func provision(t *testing.T, top *topology, m *mirror, image, project string) container {
	t.Helper()
	detection, err := ecosystem.Detect(rootOf(t, project))
	if err != nil {
		t.Fatal(err)
	}
	workspace := folder(t, 0o777)
	run(t, "cp", "-a", project+"/.", workspace)
	run(t, "chown", "-R", "1000:1000", workspace)
	w := container{
		namespace: top.mirror, root: imageRoot(t, image), dir: brokerproto.Workspace,
		mounts: map[string]string{brokerproto.StateDir: folder(t, 0o777), brokerproto.Workspace: workspace},
	}
	plan := ecosystem.PlanFor(detection, v1alpha1.Runtime{}, nil, "http://"+m.address+"/")
	if len(plan.Provisioning) == 0 {
		t.Fatalf("there is no plan for %s", detection.Ecosystem)
	}
	for _, command := range plan.Provisioning {
		w.env = command.Env
		if _, err := w.run(t, command.Argv...); err != nil {
			t.Fatalf("%s: %v", command.Name, err)
		}
	}
	return w
}
