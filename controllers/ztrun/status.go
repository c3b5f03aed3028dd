package ztrun

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/controllers/internal/status"
	"github.com/ai-dossier/zt-operator/internal/safetext"
)

// Bounds of an outcome's texts, as the API states them.
const (
	maxSubject = 214
	maxMessage = 1024
)

func boundedOutcome(o v1alpha1.Outcome) *v1alpha1.Outcome {
	o.Subject = safetext.Line(o.Subject, maxSubject)
	o.Message = safetext.Line(o.Message, maxMessage)
	return &o
}

// finding is what the scope says of one condition: reached, or where it stands.
type finding struct {
	reached bool
	status  metav1.ConditionStatus
	detail  v1alpha1.Detail
	message string
}

func reached(detail v1alpha1.Detail, format string, args ...any) finding {
	return finding{true, metav1.ConditionTrue, detail, fmt.Sprintf(format, args...)}
}

func standing(status metav1.ConditionStatus, detail v1alpha1.Detail, format string, args ...any) finding {
	return finding{false, status, detail, fmt.Sprintf(format, args...)}
}

func notReached() finding {
	return standing(metav1.ConditionUnknown, v1alpha1.DetailNotReached, "the run has not come this far")
}

// findings computes each condition from the scope alone, in the order in which they
// become true.
func findings() []struct {
	condition string
	of        func(*scope) finding
} {
	return []struct {
		condition string
		of        func(*scope) finding
	}{
		{v1alpha1.ConditionAdmitted, admitted},
		{v1alpha1.ConditionScheduled, scheduled},
		{v1alpha1.ConditionSourceRead, sourceRead},
		{v1alpha1.ConditionProxyReady, proxyReady},
		{v1alpha1.ConditionProvisioned, provisioned},
		{v1alpha1.ConditionIsolated, isolated},
		{v1alpha1.ConditionVerified, verified},
		{v1alpha1.ConditionTornDown, tornDown},
		{v1alpha1.ConditionComplete, complete},
	}
}

// conditions is the run's list of conditions after this pass.
func conditions(s *scope) []metav1.Condition {
	concerned := concernedBy(s)
	var computed []status.Condition
	for _, f := range findings() {
		found := f.of(s)
		switch {
		case f.condition == concerned:
			o := failed(s)
			found = standing(metav1.ConditionFalse, o.Detail, "%s", o.Message)
		case !found.reached && s.held != nil && s.held.condition == f.condition:
			found = standing(metav1.ConditionFalse, s.held.detail, "%s", s.held.message)
			if s.held.unknown {
				found.status = metav1.ConditionUnknown
			}
		}
		computed = append(computed, status.Condition{
			Type: f.condition, Status: found.status, Detail: found.detail, Message: found.message,
		})
	}
	// Only runs that were paused once have the condition: for all others it would be a
	// condition that is better not true.
	if s.paused() || meta.FindStatusCondition(s.run.Status.Conditions, v1alpha1.ConditionPaused) != nil {
		found := paused(s)
		computed = append(computed, status.Condition{
			Type: v1alpha1.ConditionPaused, Status: found.status, Detail: found.detail, Message: found.message,
		})
	}
	return status.Set(s.run.Status.Conditions, s.run.Generation, s.now, computed)
}

// failed is the run's outcome, or what paused it; nil for a verdict.
func failed(s *scope) *v1alpha1.Outcome {
	o := s.run.Status.Outcome
	if o == nil && s.endedBy(v1alpha1.AttemptPaused) {
		record := s.ending()
		o = &v1alpha1.Outcome{Result: v1alpha1.ResultOf(record.Detail), Detail: record.Detail, Message: record.Message}
	}
	if o == nil || isVerdict(o.Result) {
		return nil
	}
	return o
}

// concernedBy names the condition that a failure kept from becoming true; none for a
// verdict.
func concernedBy(s *scope) string {
	o := failed(s)
	if o == nil {
		return ""
	}
	switch o.Detail {
	case v1alpha1.DetailCapacityTimedOut, v1alpha1.DetailVMPodFailed:
		return v1alpha1.ConditionScheduled
	case v1alpha1.DetailProxyNotReady:
		return v1alpha1.ConditionProxyReady
	case v1alpha1.DetailNetworkPresent:
		return v1alpha1.ConditionIsolated
	}
	switch o.Result {
	case v1alpha1.ResultNotAdmitted:
		return v1alpha1.ConditionAdmitted
	case v1alpha1.ResultInvalidSource, v1alpha1.ResultUnsupportedEnvironment:
		return v1alpha1.ConditionSourceRead
	case v1alpha1.ResultProvisioningFailed:
		return v1alpha1.ConditionProvisioned
	case v1alpha1.ResultInconclusive:
		return v1alpha1.ConditionVerified
	}
	for _, f := range findings() {
		if !f.of(s).reached {
			return f.condition
		}
	}
	return v1alpha1.ConditionVerified
}

func admitted(s *scope) finding {
	if t := s.run.Status.Timings; t == nil || t.Admitted == nil {
		return notReached()
	}
	return reached(v1alpha1.DetailAdmitted, "profile %q is baked on a node and its policy is valid", s.run.Spec.ProfileRef.Name)
}

func scheduled(s *scope) finding {
	if s.endedBy(v1alpha1.AttemptInterrupted) {
		return standing(metav1.ConditionFalse, v1alpha1.DetailAttemptInterrupted,
			"an attempt was interrupted and is made again: %s", s.ending().Message)
	}
	if !s.placed() {
		return notReached()
	}
	return reached(v1alpha1.DetailScheduled, "vm pod %s runs on node %s", s.run.Status.VMPod.Name, s.run.Status.NodeName)
}

func sourceRead(s *scope) finding {
	e := s.execution()
	if e == nil || e.Source == nil || e.State == v1alpha1.ExecutionReadingSource {
		return notReached()
	}
	return reached(v1alpha1.DetailSourceRead, "every commit is in the bundle; %s, runtime %s, %d packages",
		e.Source.Ecosystem, e.Source.Runtime, e.Source.Packages)
}

func proxyReady(s *scope) finding {
	if !s.proxyReady() || s.run.Status.Proxy == nil {
		return notReached()
	}
	return reached(v1alpha1.DetailProxyReady, "mirror and Squid are ready")
}

func tornDown(s *scope) finding {
	switch {
	case s.completed():
		return reached(v1alpha1.DetailTornDown, "nothing of the run is left")
	case s.paused():
		return reached(v1alpha1.DetailTornDown, "nothing of attempt %d is left", s.attempt())
	}
	return notReached()
}

func paused(s *scope) finding {
	if !s.paused() {
		return standing(metav1.ConditionFalse, v1alpha1.DetailResumed, "the run was resumed")
	}
	return reached(s.ending().Detail, "%s", pauseMessage(s.run, s.ending()))
}

func complete(s *scope) finding {
	o := s.run.Status.Outcome
	if s.paused() {
		return standing(metav1.ConditionFalse, v1alpha1.DetailPaused, "the run is paused and waits to be resumed")
	}
	if o == nil || !s.completed() {
		return standing(metav1.ConditionFalse, v1alpha1.DetailRunning, "the run is not over")
	}
	return reached(o.Detail, "%s: %s", o.Result, o.Message)
}
