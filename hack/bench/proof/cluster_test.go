package main

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

func aRun(name string, complete metav1.ConditionStatus, suspend bool) client.Object {
	run := &v1alpha1.ZTRun{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team-a"}}
	run.Spec.Suspend = suspend
	run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionComplete, Status: complete}}
	return run
}

func TestNothingIsMeasuredBesideAnotherRun(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		run  client.Object
		want string
	}{
		"a run that is complete leaves the cluster free": {aRun("old", metav1.ConditionTrue, false), ""},
		"a run that is suspended, too":                   {aRun("held", metav1.ConditionFalse, true), ""},
		"a run under way is named":                       {aRun("busy", metav1.ConditionFalse, false), "team-a/busy"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{kube: fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.run).Build()}
			err := b.alone(t.Context())
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

func TestARunThatIsNoProofHasNoFigures(t *testing.T) {
	for name, status := range map[string]v1alpha1.ZTRunStatus{
		"without an outcome":   {Attempt: 1},
		"with another verdict": {Attempt: 1, Outcome: &v1alpha1.Outcome{Result: v1alpha1.ResultInconclusive}},
		"made twice":           {Attempt: 2, Outcome: &v1alpha1.Outcome{Result: v1alpha1.ResultReproducedAndFixed}},
		"without a record":     {Attempt: 1, Outcome: &v1alpha1.Outcome{Result: v1alpha1.ResultReproducedAndFixed}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := result(&v1alpha1.ZTRun{Status: status}, newWatch()); err == nil {
				t.Errorf("%+v, want an error", got)
			}
		})
	}
}
