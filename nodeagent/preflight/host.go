package preflight

import (
	"fmt"
	"os/exec"
	"runtime"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/nodeagent/engine"
)

// tools are the programs the node agent starts, in the order in which they are missed.
var tools = []struct {
	name   string
	detail v1alpha1.Detail
}{
	{"qemu-system-x86_64", v1alpha1.DetailQEMUMissing},
	{"qemu-img", v1alpha1.DetailQEMUImgMissing},
	{"mkfs.ext4", v1alpha1.DetailExt4ToolMissing},
	{"git", v1alpha1.DetailGitMissing},
}

// Host refuses a node that cannot run any VM, naming the first thing it lacks. Errors
// are *engine.Failure.
func Host() error {
	if runtime.GOARCH != "amd64" {
		return &engine.Failure{
			Detail: v1alpha1.DetailUnsupportedArch,
			Err:    fmt.Errorf("this node is %s; the guest image is amd64", runtime.GOARCH),
		}
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool.name); err != nil {
			return &engine.Failure{Detail: tool.detail, Err: fmt.Errorf("looking for %s: %w", tool.name, err)}
		}
	}
	return nil
}
