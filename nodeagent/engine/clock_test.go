package engine

import (
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

func TestClocksFor(t *testing.T) {
	profile := v1alpha1.ProfileLimits{ProvisioningSeconds: 600, CommandSeconds: 1200, RunSeconds: 7200}
	seconds := func(n int32) *int32 { return &n }
	for name, tc := range map[string]struct {
		accelerator v1alpha1.Accelerator
		run         *v1alpha1.RunLimits
		want        time.Duration
	}{
		"KVM takes the profile's clock":  {v1alpha1.AcceleratorKVM, nil, 20 * time.Minute},
		"TCG stretches it sixteen times": {v1alpha1.AcceleratorTCG, nil, 16 * 20 * time.Minute},
		"a run narrows it":               {v1alpha1.AcceleratorKVM, &v1alpha1.RunLimits{CommandSeconds: seconds(60)}, time.Minute},
		"a run cannot widen it":          {v1alpha1.AcceleratorKVM, &v1alpha1.RunLimits{CommandSeconds: seconds(9999)}, 20 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ClocksFor(tc.accelerator, profile, tc.run).Command; got != tc.want {
				t.Errorf("command clock %s, want %s", got, tc.want)
			}
		})
	}
	long := v1alpha1.ProfileLimits{CommandSeconds: 21600}
	if got := ClocksFor(v1alpha1.AcceleratorTCG, long, nil).Command; got != 6*time.Hour {
		t.Errorf("six hours under TCG became %s", got)
	}
}
