package ztrun

import (
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/test/builders"
)

func TestTheSelectedRuntimeIsRecordedBeforeTheProxyStarts(t *testing.T) {
	w, _ := readyWorld(t)
	w.toPlaced()
	if w.run().Status.Runtime != nil {
		t.Error("a runtime is recorded before the source was read")
	}
	w.agent(builders.Execution(1, bundleDigest).Object())
	w.pass()
	if got := w.run().Status; got.Runtime == nil || *got.Runtime != *builders.Selected() || got.Proxy != nil {
		t.Errorf("recorded %+v, with the proxy at %+v", got.Runtime, got.Proxy)
	}
}

func TestASelectionIsRefused(t *testing.T) {
	other := func(r *v1alpha1.RuntimeRecord) { r.Version = "22.23.6" }
	for name, tc := range map[string]struct {
		before  func(*world)
		e       *v1alpha1.ExecutionStatus
		subject string
	}{
		"that the profile does not have as it is": {func(*world) {}, builders.Execution(1, bundleDigest).Select(other).Object(), "runtime.version"},
		"of a name that the profile does not have": {func(*world) {}, builders.Execution(1, bundleDigest).Select(func(r *v1alpha1.RuntimeRecord) {
			r.Name = "node-99"
		}).Object(), "runtime.name"},
		"that the node agent does not state": {func(*world) {}, func() *v1alpha1.ExecutionStatus {
			e := builders.Execution(1, bundleDigest).Object()
			e.Source.Selected = nil
			return e
		}(), ""},
		"that is not the run's recorded one": {func(w *world) {
			edit(w, w.run(), func(r *v1alpha1.ZTRun) { r.Status.Runtime = builders.Selected(); other(r.Status.Runtime) })
		}, builders.Execution(1, bundleDigest).Object(), "runtime.version"},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := readyWorld(t)
			w.toPlaced()
			tc.before(w)
			w.agent(tc.e)
			w.pass()
			w.wantOutcome(v1alpha1.ResultUnsupportedEnvironment, v1alpha1.DetailRecordMismatch, "")
			if o := w.run().Status.Outcome; o.Subject != tc.subject {
				t.Errorf("subject is %q, want %q", o.Subject, tc.subject)
			}
			if p := w.run().Status.Proxy; p != nil {
				t.Error("a proxy was started")
			}
			w.settle()
			w.advance(cleanedBound)
			w.wantComplete()
		})
	}
}
