package ztrun

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/controllers/internal/status"
	"github.com/ai-dossier/zt-operator/internal/safetext"
)

// maxNote bounds an event's note; the API's own limit is 1024.
const maxNote = 1000

// publish writes the status if it changed and then, only then, one event for each
// condition that changed with it.
func (r *Reconciler) publish(ctx context.Context, s *scope) error {
	wrote, err := status.Write(ctx, r.Client, s.base, s.run)
	if err != nil || !wrote {
		return err
	}
	for _, c := range status.Transitions(s.base.Status.Conditions, s.run.Status.Conditions) {
		pending := c.Type == v1alpha1.ConditionComplete && c.Status != metav1.ConditionTrue
		if pending || c.Reason == v1alpha1.DetailNotReached.Reason() {
			continue
		}
		log.FromContext(ctx).Info("condition changed", "condition", c.Type, "status", c.Status, "reason", c.Reason, "attempt", s.attempt())
		r.Events.Eventf(s.run, nil, eventType(s, c), c.Reason, c.Type, "%s", safetext.Line(note(c), maxNote))
	}
	return nil
}

func note(c metav1.Condition) string {
	if c.Status == metav1.ConditionTrue {
		return c.Type + ": " + c.Message
	}
	return "not " + c.Type + ": " + c.Message
}

// eventType is Warning for what somebody may have to do something about.
func eventType(s *scope, c metav1.Condition) string {
	bad := c.Type == concernedBy(s) ||
		c.Type == v1alpha1.ConditionPaused && c.Status == metav1.ConditionTrue ||
		c.Type == v1alpha1.ConditionComplete && !isVerdict(s.run.Status.Outcome.Result) ||
		c.Reason == v1alpha1.DetailBlockedCleanup.Reason() ||
		c.Reason == v1alpha1.DetailAttemptInterrupted.Reason()
	if bad {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}
