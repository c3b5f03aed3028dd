package ztrun

import (
	"context"
	"errors"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/refusal"
	"github.com/ai-dossier/zt-operator/internal/runtimes"
)

// selection records the runtime that the source was found to need, once for all
// attempts of the run, before the node agent learns of a mirror and executes anything.
// The node's selection must be a runtime of the profile, as it is, and that of the
// attempts before.
func (r *Reconciler) selection(_ context.Context, s *scope) (ctrl.Result, error) {
	if s.executionState() != v1alpha1.ExecutionWaitingForProxy {
		return ctrl.Result{}, nil
	}
	var selected *v1alpha1.RuntimeRecord
	if source := s.execution().Source; source != nil {
		selected = source.Selected
	}
	// Without a profile there is no mirror either; the next phase says so.
	if s.profile != nil {
		if err := runtimes.InProfile(selected, s.profile.Spec); err != nil {
			return ctrl.Result{}, refused(err)
		}
	}
	if s.run.Status.Runtime == nil {
		s.run.Status.Runtime = selected.DeepCopy()
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, refused(runtimes.Same(s.run.Status.Runtime, selected))
}

// refused ends the run with a refusal of pure code.
func refused(err error) error {
	var no *refusal.Refusal
	if !errors.As(err, &no) {
		return err
	}
	return refuse(v1alpha1.ResultOf(no.Detail), no.Detail, no.Subject, "%s", no.Message)
}
