package ztrun

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/test/builders"
)

func TestAdmissionRefuses(t *testing.T) {
	badPolicy := builders.Policy("default")
	badPolicy.Spec.Hosts[0].Paths = []v1alpha1.PathPattern{"^/(unclosed$"}
	baked := builders.Profile("default").Observed(specDigest).Says(builders.Baked(node1, 1))
	for name, tc := range map[string]struct {
		objects       []client.Object
		detail        v1alpha1.Detail
		subject, text string
	}{
		"a run whose profile does not exist": {
			[]client.Object{builders.Policy("default")},
			v1alpha1.DetailUnknownProfile, "default", `no ZTProfile "default"; create it`,
		},
		"a run whose policy does not exist": {
			[]client.Object{baked.Object()},
			v1alpha1.DetailUnknownPolicy, "default", `no ProxyPolicy "default"; create it`,
		},
		"a run whose policy is not valid, naming the field": {
			[]client.Object{baked.Object(), badPolicy},
			v1alpha1.DetailPolicyInvalid, "spec.hosts[0].paths[0]", "spec.hosts[0].paths[0]",
		},
		"a run whose profile names a CA bundle that does not exist": {
			[]client.Object{
				builders.Profile("default").CABundle("registry-cas", "ca.pem").Observed(specDigest).Says(builders.Baked(node1, 1)).Object(),
				builders.Policy("default"),
			},
			v1alpha1.DetailCABundleMissing, "registry-cas", `key "ca.pem" of ConfigMap zt-system/registry-cas`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := builders.Run("fix").UID("u").Created(epoch).Object()
			w := newWorld(t, append(tc.objects, run, builders.Bundle("team-a", "fix", bundle))...)
			w.pass()
			w.wantOutcome(v1alpha1.ResultNotAdmitted, tc.detail, tc.text)
			if got := w.run().Status.Outcome.Subject; got != tc.subject {
				t.Errorf("subject is %q, want %q", got, tc.subject)
			}
			w.wantCondition(v1alpha1.ConditionAdmitted, metav1.ConditionFalse, tc.detail, tc.text)
			if made := w.objects(); len(made) > 0 {
				t.Errorf("a refused run made %v", made)
			}
			w.wantComplete()
		})
	}
}

func TestAdmissionWaitsForANode(t *testing.T) {
	for name, tc := range map[string]struct {
		profile *builders.ProfileBuilder
		said    string
	}{
		"no agent has reported": {builders.Profile("default").Observed(specDigest), "is the node agent running"},
		"the only node failed": {
			builders.Profile("default").Observed(specDigest).
				Says(builders.BakeFailed(node1, 1, v1alpha1.DetailProfileImageMissing, "guest: not found")),
			"node-1: Failed profile_image_missing (guest: not found)",
		},
		"the only node has baked an older generation": {
			builders.Profile("default").Observed(specDigest).Says(builders.Baked(node1, 0)), "node-1: Baked (an older generation)",
		},
		"the profile itself was not looked at yet": {builders.Profile("default").Says(builders.Baked(node1, 1)), "node-1: Baked"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, builders.Run("fix").UID("u").Created(epoch).Object(), tc.profile.Object(),
				builders.Policy("default"), builders.Bundle("team-a", "fix", bundle))
			result := w.settle()
			w.wantCondition(v1alpha1.ConditionAdmitted, metav1.ConditionFalse, v1alpha1.DetailWaitingForProfile, tc.said)
			if result.RequeueAfter != 600*time.Second {
				t.Errorf("the next pass is in %s, want the placement bound", result.RequeueAfter)
			}
			if phase := w.run().Status.Phase; phase != v1alpha1.PhasePending {
				t.Errorf("phase is %s, want Pending", phase)
			}
			w.advance(600 * time.Second)
			w.pass()
			w.wantOutcome(v1alpha1.ResultNotAdmitted, v1alpha1.DetailNoCapableNode, tc.said)
			w.wantComplete()
		})
	}
}

func TestAdmissionGoesOnOnceANodeHasBaked(t *testing.T) {
	profile := builders.Profile("default").Observed(specDigest).Object()
	w := newWorld(t, builders.Run("fix").UID("u").Created(epoch).Object(), profile,
		builders.Policy("default"), builders.Bundle("team-a", "fix", bundle))
	w.settle()
	edit(w, profile, func(p *v1alpha1.ZTProfile) { p.Status.Nodes = []v1alpha1.NodeBake{builders.Baked(node1, 1)} })
	w.settle()
	w.wantCondition(v1alpha1.ConditionAdmitted, metav1.ConditionTrue, v1alpha1.DetailAdmitted, "")
	w.pod(v1alpha1.RoleVM)
}

func TestASuspendedRunMakesNothingAndItsWaitStartsWhenItIsResumed(t *testing.T) {
	run := builders.Run("fix").UID("u").Created(epoch).Suspended().Object()
	w := newWorld(t, run, builders.Profile("default").Observed(specDigest).Object(),
		builders.Policy("default"), builders.Bundle("team-a", "fix", bundle))
	w.settle()
	w.wantCondition(v1alpha1.ConditionAdmitted, metav1.ConditionUnknown, v1alpha1.DetailSuspended, "spec.suspend")
	if phase := w.run().Status.Phase; phase != v1alpha1.PhaseSuspended {
		t.Errorf("phase is %s, want Suspended", phase)
	}
	if made := w.objects(); len(made) > 0 {
		t.Errorf("a suspended run made %v", made)
	}
	w.advance(24 * time.Hour)
	edit(w, w.run(), func(r *v1alpha1.ZTRun) { r.Spec.Suspend = false })
	w.settle()
	w.wantCondition(v1alpha1.ConditionAdmitted, metav1.ConditionFalse, v1alpha1.DetailWaitingForProfile, "")
	w.advance(599 * time.Second)
	w.settle()
	if w.run().Status.Outcome != nil {
		t.Error("the time in suspension counted towards the placement bound")
	}
	w.advance(2 * time.Second)
	w.pass()
	w.wantOutcome(v1alpha1.ResultNotAdmitted, v1alpha1.DetailNoCapableNode, "")
}

func TestSuspendingAPendingVMPodGivesItBack(t *testing.T) {
	w, _ := readyWorld(t)
	w.toVMPod()
	edit(w, w.run(), func(r *v1alpha1.ZTRun) { r.Spec.Suspend = true })
	w.settle()
	if left := w.objects(); len(left) > 0 {
		t.Errorf("a suspended run keeps %v", left)
	}
	edit(w, w.run(), func(r *v1alpha1.ZTRun) { r.Spec.Suspend = false })
	w.settle()
	w.pod(v1alpha1.RoleVM)
}

func TestSuspendDoesNotTouchAPlacedRun(t *testing.T) {
	w, _ := readyWorld(t)
	w.toPlaced()
	edit(w, w.run(), func(r *v1alpha1.ZTRun) { r.Spec.Suspend = true })
	w.settle()
	w.pod(v1alpha1.RoleVM)
	w.wantCondition(v1alpha1.ConditionScheduled, metav1.ConditionTrue, v1alpha1.DetailScheduled, node1)
}

func TestAnAPIThatFailsInAdmissionChangesNoCondition(t *testing.T) {
	for name, fails := range map[string]func(string, runtime.Object) bool{
		"reading the profile": func(verb string, o runtime.Object) bool { _, is := o.(*v1alpha1.ZTProfile); return is },
		"reading the policy":  func(verb string, o runtime.Object) bool { _, is := o.(*v1alpha1.ProxyPolicy); return is },
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := readyWorld(t)
			w.fail = func(verb string, o runtime.Object) error {
				if fails(verb, o) {
					return errAPI
				}
				return nil
			}
			_, err := w.r.Reconcile(context.Background(), ctrl.Request{NamespacedName: runKey})
			if !errors.Is(err, errAPI) {
				t.Fatalf("the pass answered %v, want the API's error", err)
			}
			if got := w.run().Status.Conditions; len(got) > 0 {
				t.Errorf("conditions were written from half of the facts: %v", got)
			}
			w.fail = nil
			w.settle()
			w.pod(v1alpha1.RoleVM)
		})
	}
}

func TestMessagesFromNodesAreBounded(t *testing.T) {
	long := builders.BakeFailed(node1, 1, v1alpha1.DetailBakeFailed, strings.Repeat("\x1b[31m", 400))
	w := newWorld(t, builders.Run("fix").UID("u").Created(epoch).Object(),
		builders.Profile("default").Observed(specDigest).Says(long).Object(),
		builders.Policy("default"), builders.Bundle("team-a", "fix", bundle))
	w.settle()
	c := w.condition(v1alpha1.ConditionAdmitted)
	if len(c.Message) > 1024 || strings.Contains(c.Message, "\x1b") {
		t.Errorf("the message has %d bytes, or raw escapes: %.60q", len(c.Message), c.Message)
	}
}
