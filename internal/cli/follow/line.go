package follow

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/safetext"
)

// maxActivity bounds what is shown of one activity, in bytes.
const maxActivity = 256

// line is one observation of a run, ready to show.
type line struct {
	phase, activity string
	elapsed         time.Duration
}

// describe says what a run is doing, for people.
func describe(run *v1alpha1.ZTRun, now time.Time) line {
	l := line{phase: string(run.Status.Phase), activity: safetext.Line(activity(run), maxActivity)}
	if l.phase == "" {
		l.phase = string(v1alpha1.PhasePending)
	}
	l.phase = safetext.Line(l.phase, 32)
	if t := run.Status.Timings; Done(run) && t != nil && t.Completed != nil {
		now = t.Completed.Time
	}
	// The server's clock may be ahead of this one.
	l.elapsed = max(now.Sub(run.CreationTimestamp.Time), 0)
	return l
}

// activity prefers the node agent's words while it is at work, else the message
// of the first condition that is not yet true.
func activity(run *v1alpha1.ZTRun) string {
	status := &run.Status
	switch {
	case Done(run), Paused(run):
		return ""
	case status.Phase == v1alpha1.PhasePaused:
		return "resumed, waiting for the operator"
	}
	if e := status.Execution; e != nil && e.Attempt == status.Attempt && atWork(status) && e.Activity != "" {
		return e.Activity
	}
	if status.Outcome != nil {
		return string(status.Outcome.Result) + ", removing what the run made"
	}
	for _, conditionType := range conditionOrder {
		c := meta.FindStatusCondition(status.Conditions, conditionType)
		// "Not reached" tells nothing about what goes on now.
		if c != nil && c.Status != metav1.ConditionTrue && c.Reason != v1alpha1.DetailNotReached.Reason() {
			return c.Message
		}
	}
	if len(status.Conditions) == 0 {
		return "waiting for the operator"
	}
	return ""
}

func atWork(status *v1alpha1.ZTRunStatus) bool {
	if status.Outcome != nil {
		return false
	}
	switch status.Execution.State {
	case v1alpha1.ExecutionReadingSource, v1alpha1.ExecutionRunning:
		return true
	}
	return false
}

// conditionOrder is the order in which a run's conditions become true. Complete,
// the last, says nothing before the others are.
var conditionOrder = []string{
	v1alpha1.ConditionAdmitted, v1alpha1.ConditionScheduled, v1alpha1.ConditionSourceRead,
	v1alpha1.ConditionProxyReady, v1alpha1.ConditionProvisioned, v1alpha1.ConditionIsolated,
	v1alpha1.ConditionVerified, v1alpha1.ConditionTornDown,
}

// Paused reports whether the run waits to be resumed, and nobody has done so yet.
func Paused(run *v1alpha1.ZTRun) bool {
	return run.Status.Phase == v1alpha1.PhasePaused &&
		run.Annotations[v1alpha1.ResumeAnnotation] != strconv.Itoa(int(run.Status.Attempt))
}

// still reports whether nothing more comes without somebody doing something.
func still(run *v1alpha1.ZTRun) bool { return Done(run) || Paused(run) }

// Done reports whether the run is final and torn down.
func Done(run *v1alpha1.ZTRun) bool {
	return meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionComplete)
}
