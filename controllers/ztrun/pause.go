package ztrun

import (
	"context"
	"fmt"
	"strconv"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/safetext"
)

// maxFound bounds what a pause's message repeats of what was found, so that what to do
// is not what is cut off.
const maxFound = 420

// conclude ends the run with an outcome, or pauses it if the outcome is one that people
// can mend. A mirror that held files of no lockfile is evidence, not bad luck.
func (s *scope) conclude(o v1alpha1.Outcome) {
	e := s.execution()
	unknownFiles := e != nil && e.CacheAudit != nil && e.CacheAudit.Rejected > 0
	switch pauses := o.Result == v1alpha1.ResultProvisioningFailed && o.Detail.Pauses() && !unknownFiles; {
	case pauses && s.attempt() < v1alpha1.MaxAttempts:
		s.endAttempt(v1alpha1.AttemptPaused, o)
		return
	case pauses:
		o.Message = fmt.Sprintf("attempt %d, the last one, could not provision: %s", s.attempt(), o.Message)
	}
	s.end(o)
}

// endAttempt records how the current attempt ended, once; the passes after it tear it
// down. What struck first stands: what comes later is mostly its consequence.
func (s *scope) endAttempt(end v1alpha1.AttemptEnd, o v1alpha1.Outcome) {
	if s.ending() != nil {
		return
	}
	o = *boundedOutcome(o)
	s.run.Status.Attempt = s.attempt()
	s.run.Status.Attempts = append(s.run.Status.Attempts, v1alpha1.AttemptRecord{
		Attempt: s.attempt(), End: end, Detail: o.Detail, Subject: o.Subject, Message: o.Message,
		NodeName: s.run.Status.NodeName, EndedAt: *s.moment(),
	})
}

// ending is the record of the current attempt if it has ended without an outcome.
func (s *scope) ending() *v1alpha1.AttemptRecord { return s.run.Status.Ended() }

// endedBy reports whether the current attempt ended so.
func (s *scope) endedBy(end v1alpha1.AttemptEnd) bool {
	record := s.ending()
	return record != nil && record.End == end
}

// interruptedBefore reports whether the attempt before this one was interrupted.
func (s *scope) interruptedBefore() bool {
	for _, record := range s.run.Status.Attempts {
		if record.Attempt == s.attempt()-1 {
			return record.End == v1alpha1.AttemptInterrupted
		}
	}
	return false
}

// paused reports whether the run waits to be resumed, with nothing of it left.
func (s *scope) paused() bool {
	return s.endedBy(v1alpha1.AttemptPaused) && s.ending().TornDownAt != nil
}

// park is reached when nothing of a paused attempt is left.
func (r *Reconciler) park(_ context.Context, s *scope) (ctrl.Result, error) {
	if record := s.ending(); record.TornDownAt == nil {
		record.TornDownAt = s.moment()
	}
	return ctrl.Result{}, nil
}

// resume starts the next attempt of a paused run if the annotation names the attempt
// that paused. It stays where it is: for the next attempt its number is a past one.
func (r *Reconciler) resume(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.run.Annotations[v1alpha1.ResumeAnnotation] != strconv.Itoa(int(s.attempt())) {
		return ctrl.Result{}, nil
	}
	// What counts from the placement counts anew: a pause may last for days.
	s.timings().Scheduled = nil
	return r.nextAttempt(ctx, s)
}

// pauseMessage says why the run waits, what to do about it and how to go on.
func pauseMessage(run *v1alpha1.ZTRun, record *v1alpha1.AttemptRecord) string {
	entry, _ := v1alpha1.Explain(record.Detail)
	return fmt.Sprintf(
		"attempt %d of at most %d could not provision: %s. What to do: %s Then: kubectl zt resume -n %s %s (it sets the annotation %s=%d). To give up, delete the run.",
		record.Attempt, v1alpha1.MaxAttempts, safetext.Line(record.Message, maxFound), entry.Remedy,
		run.Namespace, run.Name, v1alpha1.ResumeAnnotation, record.Attempt)
}
