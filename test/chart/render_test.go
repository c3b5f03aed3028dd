package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestTheKustomizeBasesAreRenderedFromTheChart(t *testing.T) {
	fresh := t.TempDir()
	if _, err := exec.LookPath("helm"); err != nil {
		t.Fatal("helm is not in PATH: hack/tools.sh helm builds it")
	}
	if out, err := exec.Command("../../config/render.sh", fresh).CombinedOutput(); err != nil {
		t.Fatalf("config/render.sh: %v\n%s", err, out)
	}
	for _, file := range []string{"rbac/rbac.yaml", "manager/manager.yaml", "samples/proxypolicy.yaml", "samples/ztprofile.yaml"} {
		want, err := os.ReadFile(filepath.Join(fresh, file))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join("../../config", file)); err != nil || string(got) != string(want) {
			t.Errorf("config/%s is stale (%v); run: config/render.sh", file, err)
		}
	}
}
