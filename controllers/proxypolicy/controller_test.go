package proxypolicy

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/test/builders"
)

func TestObserve(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(*v1alpha1.ProxyPolicySpec)
		status  metav1.ConditionStatus
		detail  v1alpha1.Detail
		message string
	}{
		"the shipped policy is valid": {func(*v1alpha1.ProxyPolicySpec) {}, metav1.ConditionTrue, v1alpha1.DetailPolicyValid, "hosts admitted: 3"},
		"a pattern that does not compile is named": {
			func(s *v1alpha1.ProxyPolicySpec) { s.Hosts[1].Paths = []v1alpha1.PathPattern{"^/(x$"} },
			metav1.ConditionFalse, v1alpha1.DetailPolicyPatternInvalid, "spec.hosts[1].paths[0]",
		},
		"a policy that widens the ceiling is named": {
			func(s *v1alpha1.ProxyPolicySpec) { s.Methods = []v1alpha1.PolicyMethod{"POST"} },
			metav1.ConditionFalse, v1alpha1.DetailPolicyWidensCeiling, "spec.methods[0]",
		},
		"many problems are counted": {
			func(s *v1alpha1.ProxyPolicySpec) {
				s.ForbiddenDestinations = []string{"a", "b", "c", "d", "e"}
			},
			metav1.ConditionFalse, v1alpha1.DetailPolicyDestinationFormat, "and 2 more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := builders.Policy("default")
			tc.change(&p.Spec)
			observe(p, time.Now())
			c := p.Status.Conditions[0]
			if c.Type != v1alpha1.ConditionValid || c.Status != tc.status || c.Reason != tc.detail.Reason() || !strings.Contains(c.Message, tc.message) {
				t.Errorf("condition is %s=%s %s %q", c.Type, c.Status, c.Reason, c.Message)
			}
			if valid := tc.status == metav1.ConditionTrue; (p.Status.ConfigDigest != "") != valid || p.Status.Digest == "" {
				t.Errorf("digest %q, digest of the configuration %q", p.Status.Digest, p.Status.ConfigDigest)
			}
		})
	}
}

func TestAPolicyThatBecomesInvalidLosesItsConfigDigest(t *testing.T) {
	p := builders.Policy("default")
	observe(p, time.Now())
	p.Spec.Hosts = nil
	observe(p, time.Now())
	if p.Status.ConfigDigest != "" {
		t.Error("an invalid policy keeps the digest of a configuration it no longer renders to")
	}
}
