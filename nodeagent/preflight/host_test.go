package preflight

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/nodeagent/engine"
)

func TestHostNamesTheFirstToolThatIsMissing(t *testing.T) {
	all := []string{"qemu-system-x86_64", "qemu-img", "mkfs.ext4", "git"}
	for name, c := range map[string]struct {
		have   []string
		detail v1alpha1.Detail
	}{
		"everything":  {all, ""},
		"no QEMU":     {all[1:], v1alpha1.DetailQEMUMissing},
		"no qemu-img": {[]string{all[0], all[2], all[3]}, v1alpha1.DetailQEMUImgMissing},
		"no mkfs":     {[]string{all[0], all[1], all[3]}, v1alpha1.DetailExt4ToolMissing},
		"no git":      {all[:3], v1alpha1.DetailGitMissing},
		"nothing":     {nil, v1alpha1.DetailQEMUMissing},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, tool := range c.have {
				if err := os.WriteFile(filepath.Join(dir, tool), []byte("#!/bin/sh\n"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", dir)
			wantDetail(t, Host(), c.detail)
		})
	}
}

// wantDetail wants a failure of that detail, which the catalogue explains; none for "".
func wantDetail(t *testing.T, err error, detail v1alpha1.Detail) {
	t.Helper()
	if detail == "" {
		if err != nil {
			t.Error(err)
		}
		return
	}
	var failure *engine.Failure
	if !errors.As(err, &failure) || failure.Detail != detail {
		t.Errorf("got %v, want %s", err, detail)
	}
	if _, ok := v1alpha1.Explain(detail); !ok {
		t.Errorf("%s is not in the catalogue", detail)
	}
}
