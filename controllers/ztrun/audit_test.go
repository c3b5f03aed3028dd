package ztrun

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/policy"
	"github.com/ai-dossier/zt-operator/test/builders"
)

func (w *world) judgeWithLog(log string) {
	w.t.Helper()
	w.logs.text = log
	w.agent(builders.Execution(1, bundleDigest).Proven().Finished().Object())
	w.pass()
}

func TestARequestThatThePolicyDoesNotAdmitFailsTheRun(t *testing.T) {
	w, _ := readyWorld(t)
	w.toRunning()
	w.judgeWithLog(strings.Replace(accessLog, "https://registry.npmjs.org/semver", "https://registry.npmjs.org/-/whoami\u202e", 1))
	w.wantOutcome(v1alpha1.ResultExecutionFailed, v1alpha1.DetailEgressViolation, "path_not_allowed")
	audit := w.run().Status.Egress.Audit
	if audit == nil || audit.Violations != 1 || audit.Found[0].Seen != "allow_npm" {
		t.Fatalf("the audit is %+v, want one violation of allow_npm", audit)
	}
	if strings.ContainsRune(audit.Found[0].Request, 0x202e) {
		t.Errorf("the request is not escaped: %q", audit.Found[0].Request)
	}
	w.wantComplete()
}

func TestARunIsAuditedByThePolicyOfItsStart(t *testing.T) {
	w, _ := readyWorld(t)
	w.toRunning()
	edit(w, builders.Policy("default"), func(p *v1alpha1.ProxyPolicy) { p.Spec.Hosts = p.Spec.Hosts[1:] })
	w.judgeWithLog(accessLog)
	w.wantOutcome(v1alpha1.ResultReproducedAndFixed, v1alpha1.DetailReproducedAndFixed, "")
}

func TestAnotherPolicyThanTheAppliedOneIsRefused(t *testing.T) {
	w, _ := readyWorld(t)
	w.toRunning()
	run := w.run()
	s := newScope(run, w.clock.Now())
	if _, err := w.r.evaluator(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{}
	w.get(types.NamespacedName{Namespace: runNamespace, Name: s.name(objectSquidConfig)}, secret)
	text, recorded := secret.Data[appliedKey], run.Status.Proxy
	other := policy.Default()
	other.MaxRedirects = 5
	wider, err := appliedPolicy{Policy: other, Ecosystem: v1alpha1.EcosystemNPM, MirrorIP: "10.244.0.6"}.encode()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := recorded.DeepCopy()
	elsewhere.MirrorAddress = "10.244.0.99:4873"
	for name, tc := range map[string]struct {
		text     []byte
		recorded *v1alpha1.ProxyStatus
	}{
		"another policy":      {wider, recorded},
		"another ecosystem":   {[]byte(strings.Replace(string(text), `"ecosystem":"npm"`, `"ecosystem":"uv"`, 1)), recorded},
		"another mirror":      {[]byte(strings.Replace(string(text), "10.244.0.6", "10.244.0.7", 1)), recorded},
		"a mirror of another": {text, elsewhere},
		"no policy":           {nil, recorded},
		"an unknown field":    {[]byte(strings.Replace(string(text), `"ecosystem"`, `"ecosystems"`, 1)), recorded},
	} {
		if _, err := evaluatorOf(tc.text, tc.recorded); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
