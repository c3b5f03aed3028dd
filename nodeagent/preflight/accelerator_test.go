package preflight

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/nodeagent/image"
)

// boots counts smoke boots, which end as they are told to.
type boots struct {
	count int
	end   error
}

func (b *boots) boot(context.Context, *image.Manifest) error {
	b.count++
	return b.end
}

// device is a file that opens, in place of /dev/kvm.
func device(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kvm")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSelectTakesKVMOnlyOnceTheGuestBootedUnderIt(t *testing.T) {
	const kvm, tcg, auto = v1alpha1.AcceleratorPolicyKVM, v1alpha1.AcceleratorPolicyTCG, v1alpha1.AcceleratorPolicyAuto
	there, missing, broken := device(t), filepath.Join(t.TempDir(), "kvm"), errors.New("no hello")
	for name, c := range map[string]struct {
		policy v1alpha1.AcceleratorPolicy
		device string
		end    error
		want   v1alpha1.Accelerator
		detail v1alpha1.Detail
		boots  int
	}{
		"KVM works and is asked for":             {kvm, there, nil, v1alpha1.AcceleratorKVM, "", 1},
		"KVM works and may be used":              {auto, there, nil, v1alpha1.AcceleratorKVM, "", 1},
		"KVM works and is not wanted":            {tcg, there, nil, v1alpha1.AcceleratorTCG, "", 0},
		"there is no device and none is wanted":  {tcg, missing, nil, v1alpha1.AcceleratorTCG, "", 0},
		"there is no device and one is asked":    {kvm, missing, nil, "", v1alpha1.DetailKVMUnavailable, 0},
		"there is no device and one may be used": {auto, missing, nil, v1alpha1.AcceleratorTCG, "", 0},
		"the guest does not boot and has to":     {kvm, there, broken, "", v1alpha1.DetailKVMUnavailable, 1},
		"the guest does not boot and need not":   {auto, there, broken, v1alpha1.AcceleratorTCG, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := &boots{end: c.end}
			a := &Accelerators{Device: c.device, Smoke: b.boot, Log: logr.Discard()}
			for range 2 { // The second time nothing is booted.
				got, err := a.Select(t.Context(), c.policy, &image.Manifest{Digest: "sha256:a"})
				if got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
				wantDetail(t, err, c.detail)
			}
			if b.count != c.boots {
				t.Errorf("%d boots, want %d", b.count, c.boots)
			}
		})
	}
}

func TestEachManifestIsProvenForItself(t *testing.T) {
	b := &boots{}
	a := &Accelerators{Device: device(t), Smoke: b.boot, Log: logr.Discard()}
	for _, digest := range []string{"sha256:a", "sha256:b", "sha256:a"} {
		if _, err := a.Select(t.Context(), v1alpha1.AcceleratorPolicyKVM, &image.Manifest{Digest: digest}); err != nil {
			t.Error(err)
		}
	}
	if b.count != 2 {
		t.Errorf("%d boots, want 2", b.count)
	}
}

func TestABootThatHangsIsGivenUp(t *testing.T) {
	path := device(t)
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		hang := func(ctx context.Context, _ *image.Manifest) error { <-ctx.Done(); return context.Cause(ctx) }
		a := &Accelerators{Device: path, Smoke: hang, Log: logr.Discard()}
		_, err := a.Select(t.Context(), v1alpha1.AcceleratorPolicyKVM, &image.Manifest{})
		wantDetail(t, err, v1alpha1.DetailKVMUnavailable)
		if took := time.Since(start); took != smokeTimeout || !strings.Contains(err.Error(), "no hello within") {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

func TestAnInterruptedProofProvesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	interrupted := func(context.Context, *image.Manifest) error { cancel(); return context.Canceled }
	a := &Accelerators{Device: device(t), Smoke: interrupted, Log: logr.Discard()}
	got, err := a.Select(ctx, v1alpha1.AcceleratorPolicyAuto, &image.Manifest{})
	if got != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("got %q, %v", got, err)
	}
	a.Smoke = (&boots{}).boot
	if got, err := a.Select(t.Context(), v1alpha1.AcceleratorPolicyAuto, &image.Manifest{}); got != v1alpha1.AcceleratorKVM {
		t.Errorf("then got %q, %v", got, err)
	}
}
