//go:build vm

package vm_test

import (
	"testing"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

func TestBootAndSwitchPhases(t *testing.T) {
	m := newMachine(t, map[string]string{"a.txt": "from the tree\n", "sub/b.txt": "b\n"})
	v := m.boot(t, brokerproto.PhaseProvisioning)
	t.Logf("provisioning: hello after %v", v.bootTime)
	if got := v.sh("cat a.txt && echo more >>sub/b.txt && mv sub moved && echo kept >/opt/ztfc/kept && id -u"); got != "from the tree\n1000" {
		t.Errorf("provisioning printed %q", got)
	}
	t.Logf("power-off took %v", v.powerOff())

	v = m.boot(t, brokerproto.PhaseVerification)
	t.Logf("verification: hello after %v", v.bootTime)
	if got := v.sh("cat moved/b.txt /opt/ztfc/kept; ls"); got != "b\nmore\nkept\na.txt\nmoved" {
		t.Errorf("the workspace did not survive the switch: %q", got)
	}
	v.powerOff()
}
