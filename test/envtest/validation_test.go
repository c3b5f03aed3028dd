package envtest

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/test/builders"
)

func TestInvalidRunsAreRefusedByTheAPI(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.ZTRun)
		says   string
	}{
		"a short commit id":               {func(r *v1alpha1.ZTRun) { r.Spec.Proof.Base.Commit = "abc123" }, "spec.proof.base.commit"},
		"an upper-case commit id":         {func(r *v1alpha1.ZTRun) { r.Spec.Proof.Base.Commit = strings.Repeat("A", 40) }, "spec.proof.base.commit"},
		"a regression test on the base":   {func(r *v1alpha1.ZTRun) { r.Spec.Proof.RegressionTest = r.Spec.Proof.Base }, "another commit than base"},
		"a candidate without a fix":       {func(r *v1alpha1.ZTRun) { r.Spec.Proof.Candidate = r.Spec.Proof.RegressionTest }, "another commit than regressionTest"},
		"no target":                       {func(r *v1alpha1.ZTRun) { r.Spec.Proof.Targets = nil }, "spec.proof.targets"},
		"a target outside the tree":       {func(r *v1alpha1.ZTRun) { r.Spec.Proof.Targets = []v1alpha1.TargetPath{"../x.js"} }, "spec.proof.targets"},
		"a target that is an option":      {func(r *v1alpha1.ZTRun) { r.Spec.Proof.Targets = []v1alpha1.TargetPath{"--require=x"} }, "spec.proof.targets"},
		"an absolute target":              {func(r *v1alpha1.ZTRun) { r.Spec.Proof.Targets = []v1alpha1.TargetPath{"/etc/passwd"} }, "spec.proof.targets"},
		"a mode that does not exist":      {func(r *v1alpha1.ZTRun) { r.Spec.Proof.Mode = "Trust" }, "spec.proof.mode"},
		"a time limit of nothing":         {func(r *v1alpha1.ZTRun) { r.Spec.Limits = &v1alpha1.RunLimits{RunSeconds: new(int32)} }, "spec.limits.runSeconds"},
		"a source that is not named":      {func(r *v1alpha1.ZTRun) { r.Spec.Source.Bundle.ConfigMapRef.Name = "" }, "spec.source.bundle.configMapRef.name"},
		"a profile of an impossible name": {func(r *v1alpha1.ZTRun) { r.Spec.ProfileRef.Name = "No Such" }, "spec.profileRef.name"},
	} {
		t.Run(name, func(t *testing.T) {
			run := builders.Run("invalid").Namespace("default").Object()
			tc.change(run)
			wantRefused(t, api.Create(t.Context(), run), tc.says)
		})
	}
}

func TestARunsQuestionCannotBeChanged(t *testing.T) {
	p := start(t, func(b *builders.RunBuilder) { b.Suspended() })
	for name, tc := range map[string]struct {
		change func(*v1alpha1.ZTRun)
		says   string
	}{
		"the candidate": {func(r *v1alpha1.ZTRun) { r.Spec.Proof.Candidate.Commit = builders.Commit("d") }, "source and proof are immutable"},
		"the bundle":    {func(r *v1alpha1.ZTRun) { r.Spec.Source.Bundle.ConfigMapRef.Name = "other" }, "source and proof are immutable"},
		"the profile":   {func(r *v1alpha1.ZTRun) { r.Spec.ProfileRef.Name = "other" }, "profileRef is immutable"},
		"a new policy":  {func(r *v1alpha1.ZTRun) { r.Spec.PolicyRef = &v1alpha1.ObjectRef{Name: "other"} }, "policyRef is immutable"},
		"new limits":    {func(r *v1alpha1.ZTRun) { r.Spec.Limits = &v1alpha1.RunLimits{} }, "limits is immutable"},
	} {
		t.Run(name, func(t *testing.T) {
			wantRefused(t, p.update(tc.change), tc.says)
		})
	}
	ttl := int32(60)
	if err := p.update(func(r *v1alpha1.ZTRun) { r.Spec.TTLSecondsAfterFinished = &ttl }); err != nil {
		t.Errorf("the time to live cannot be changed: %v", err)
	}
}

func (p *play) update(change func(*v1alpha1.ZTRun)) error {
	before := p.run()
	after := before.DeepCopy()
	change(after)
	return api.Patch(p.t.Context(), after, client.MergeFrom(before))
}

func TestInvalidProfilesAreRefusedByTheAPI(t *testing.T) {
	four := resource.MustParse("4")
	for name, tc := range map[string]struct {
		change func(*v1alpha1.ZTProfileSpec)
		says   string
	}{
		"an image by tag":                   {func(s *v1alpha1.ZTProfileSpec) { s.Guest.Image = "registry.example.com/zt/guest:v1" }, "spec.guest.image"},
		"more CPUs reserved than there are": {func(s *v1alpha1.ZTProfileSpec) { s.VM.CPURequest = &four }, "cpuRequest may not exceed cpus"},
		"no runtime":                        {func(s *v1alpha1.ZTProfileSpec) { s.Runtimes = nil }, "spec.runtimes"},
		"no mirror":                         {func(s *v1alpha1.ZTProfileSpec) { s.Proxy.Mirrors = nil }, "spec.proxy.mirrors"},
		"a VM too small to boot":            {func(s *v1alpha1.ZTProfileSpec) { s.VM.MemoryMiB = 64 }, "spec.vm.memoryMiB"},
	} {
		t.Run(name, func(t *testing.T) {
			profile := builders.Profile("invalid").Spec(tc.change).Object()
			profile.Generation = 0
			wantRefused(t, api.Create(t.Context(), profile), tc.says)
		})
	}
}

func TestInvalidPoliciesAreRefusedByTheAPI(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.ProxyPolicySpec)
		says   string
	}{
		"a method that writes":    {func(s *v1alpha1.ProxyPolicySpec) { s.Methods = []v1alpha1.PolicyMethod{"PUT"} }, "spec.methods"},
		"an address as a host":    {func(s *v1alpha1.ProxyPolicySpec) { s.Hosts[0].Host = "192.0.2.1" }, "spec.hosts[0].host"},
		"a wildcard host":         {func(s *v1alpha1.ProxyPolicySpec) { s.Hosts[0].Host = "*.npmjs.org" }, "spec.hosts[0].host"},
		"an unanchored path":      {func(s *v1alpha1.ProxyPolicySpec) { s.Hosts[0].Paths = []v1alpha1.PathPattern{"/x"} }, "spec.hosts[0].paths"},
		"a response without end":  {func(s *v1alpha1.ProxyPolicySpec) { s.MaxResponseMiB = 4096 }, "spec.maxResponseMiB"},
		"a destination by a name": {func(s *v1alpha1.ProxyPolicySpec) { s.ForbiddenDestinations = []string{"localhost"} }, "every forbidden destination is a CIDR"},
	} {
		t.Run(name, func(t *testing.T) {
			policy := builders.Policy("invalid")
			policy.Generation = 0
			tc.change(&policy.Spec)
			wantRefused(t, api.Create(t.Context(), policy), tc.says)
		})
	}
}

func wantRefused(t *testing.T, err error, says string) {
	t.Helper()
	if err == nil || !strings.Contains(fmt.Sprint(err), says) {
		t.Errorf("the API answered %v, want a refusal with %q", err, says)
	}
}
