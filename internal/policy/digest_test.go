package policy

import (
	"regexp"
	"slices"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

func TestDigest(t *testing.T) {
	base := Digest(Default())
	if !regexp.MustCompile(`^sha256:[0-9a-f]{64}$`).MatchString(base) {
		t.Fatalf("digest is %q", base)
	}
	type spec = v1alpha1.ProxyPolicySpec
	for name, tc := range map[string]struct {
		change func(*spec)
		same   bool
	}{
		"defaults left out":       {func(s *spec) { s.Methods, s.MaxResponseMiB = nil, 0 }, true},
		"sets in another order":   {func(s *spec) { slices.Reverse(s.Methods); slices.Reverse(s.Hosts); slices.Reverse(s.Hosts[0].Paths) }, true},
		"another path":            {func(s *spec) { s.Hosts[0].Paths[0] = "^/x$" }, false},
		"another host":            {func(s *spec) { s.Hosts[0].Host = "registry.example" }, false},
		"another name for a rule": {func(s *spec) { s.Hosts[0].Name = "other" }, false},
		"one method less":         {func(s *spec) { s.Methods = s.Methods[:1] }, false},
		"a smaller response":      {func(s *spec) { s.MaxResponseMiB = 1 }, false},
		"one destination more":    {func(s *spec) { s.ForbiddenDestinations = []string{"192.0.2.0/24"} }, false},
		"one ecosystem less":      {func(s *spec) { s.Hosts[1].Ecosystems = s.Hosts[1].Ecosystems[:1] }, false},
	} {
		t.Run(name, func(t *testing.T) {
			spec := Default()
			tc.change(&spec)
			if same := Digest(spec) == base; same != tc.same {
				t.Errorf("same digest: %v, want %v", same, tc.same)
			}
		})
	}
	t.Run("computing it changes nothing", func(t *testing.T) {
		spec := Default()
		slices.Reverse(spec.Hosts)
		first := spec.Hosts[0].Name
		Digest(spec)
		if spec.Hosts[0].Name != first {
			t.Error("the hosts were sorted in place")
		}
	})
}
