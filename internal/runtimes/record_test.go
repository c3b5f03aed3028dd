package runtimes

import (
	"errors"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

var guest = v1alpha1.PinnedImage{Image: "r/guest@sha256:1"}

func recorded() *v1alpha1.RuntimeRecord {
	runtime := node("22.23.5", "10.9.3")
	runtime.Image = "r/node@sha256:2"
	return Record(runtime, v1alpha1.EcosystemNPM, guest)
}

func TestARecordHasAllThatDecidesWhatCodeRunsIn(t *testing.T) {
	want := v1alpha1.RuntimeRecord{
		Ecosystem: v1alpha1.EcosystemNPM, Name: "node-22.23.5", Language: v1alpha1.LanguageNode, Version: "22.23.5",
		ManagerVersion: "10.9.3", Image: "r/node@sha256:2", Guest: "r/guest@sha256:1",
	}
	if got := recorded(); *got != want {
		t.Errorf("recorded %+v, want %+v", *got, want)
	}
}

func TestSame(t *testing.T) {
	for subject, change := range map[string]func(*v1alpha1.RuntimeRecord){
		"":                       func(*v1alpha1.RuntimeRecord) {},
		"runtime.ecosystem":      func(r *v1alpha1.RuntimeRecord) { r.Ecosystem = v1alpha1.EcosystemUV },
		"runtime.name":           func(r *v1alpha1.RuntimeRecord) { r.Name = "node-20" },
		"runtime.language":       func(r *v1alpha1.RuntimeRecord) { r.Language = v1alpha1.LanguagePython },
		"runtime.version":        func(r *v1alpha1.RuntimeRecord) { r.Version = "22.23.6" },
		"runtime.managerVersion": func(r *v1alpha1.RuntimeRecord) { r.ManagerVersion = "11.0.0" },
		"runtime.image":          func(r *v1alpha1.RuntimeRecord) { r.Image = "r/node@sha256:3" },
		"runtime.guest":          func(r *v1alpha1.RuntimeRecord) { r.Guest = "r/guest@sha256:3" },
	} {
		t.Run("a difference in "+subject, func(t *testing.T) {
			other := recorded()
			change(other)
			wantMismatch(t, Same(recorded(), other), subject)
		})
	}
	if Same(nil, recorded()) == nil || Same(recorded(), nil) == nil || Same(nil, nil) == nil {
		t.Error("no record is the same as one")
	}
}

func wantMismatch(t *testing.T, err error, subject string) {
	t.Helper()
	if subject == "" {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		return
	}
	var refused *refusal.Refusal
	if !errors.As(err, &refused) || refused.Detail != v1alpha1.DetailRecordMismatch || refused.Subject != subject {
		t.Errorf("got %v, want record_mismatch (%s)", err, subject)
	}
}

func TestInProfile(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(*v1alpha1.ZTProfileSpec)
		subject string
	}{
		"the profile as it was": {func(*v1alpha1.ZTProfileSpec) {}, ""},
		"another size and other limits, which people may mend": {func(p *v1alpha1.ZTProfileSpec) {
			p.VM.MemoryMiB, p.Limits.ProvisioningSeconds = 4096, 1200
		}, ""},
		"another runtime beside it":     {func(p *v1alpha1.ZTProfileSpec) { p.Runtimes = append(p.Runtimes, node("24.1.0", "11.0.0")) }, ""},
		"its runtime was removed":       {func(p *v1alpha1.ZTProfileSpec) { p.Runtimes = nil }, "runtime.name"},
		"its runtime has another image": {func(p *v1alpha1.ZTProfileSpec) { p.Runtimes[0].Image = "r/node@sha256:9" }, "runtime.image"},
		"another guest":                 {func(p *v1alpha1.ZTProfileSpec) { p.Guest.Image = "r/guest@sha256:9" }, "runtime.guest"},
		"its runtime lost the manager":  {func(p *v1alpha1.ZTProfileSpec) { p.Runtimes[0].Managers = nil }, "runtime.managerVersion"},
	} {
		t.Run(name, func(t *testing.T) {
			runtime := node("22.23.5", "10.9.3")
			runtime.Image = "r/node@sha256:2"
			spec := v1alpha1.ZTProfileSpec{Guest: guest, Runtimes: []v1alpha1.Runtime{runtime}}
			tc.change(&spec)
			wantMismatch(t, InProfile(recorded(), spec), tc.subject)
		})
	}
	if err := InProfile(nil, v1alpha1.ZTProfileSpec{}); err == nil || !strings.Contains(err.Error(), "did not say") {
		t.Errorf("no selection is in a profile: %v", err)
	}
}

func TestARuntimeWithoutADiskIsNotReplaced(t *testing.T) {
	var refused *refusal.Refusal
	if err := Baked(node("22.23.5", "10"), false); !errors.As(err, &refused) || refused.Detail != v1alpha1.DetailProfileNotBaked {
		t.Errorf("got %v", err)
	}
	if err := Baked(node("22.23.5", "10"), true); err != nil {
		t.Errorf("a baked runtime is refused: %v", err)
	}
}
