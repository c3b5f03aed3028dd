package lifecycle

import (
	"cmp"
	"slices"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// Standing is where a session stands after the runs that it has.
type Standing struct {
	History []Event
	// Last is what followed from the latest verdict; nil if none came since the work
	// began.
	Last *Decision
}

// Replay makes a session's history from its runs, whatever order they are given in. A
// run adds the event that its annotation states, and then what its verdict requires; one
// without a verdict, as yet or for good, adds nothing. Runs that were deleted are not in
// the history.
func Replay(runs []v1alpha1.ZTRun) Standing {
	runs = slices.SortedStableFunc(slices.Values(runs), func(a, b v1alpha1.ZTRun) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	var s Standing
	for i := range runs {
		s.Begin(Event(runs[i].Annotations[v1alpha1.SessionEventAnnotation]))
		if outcome := runs[i].Status.Outcome; outcome != nil {
			s.apply(outcome.Result)
		}
	}
	return s
}

// Begin adds an event that begins the work, and ignores any other.
func (s *Standing) Begin(event Event) {
	if event.Begins() {
		s.History, s.Last = append(s.History, event), nil
	}
}

func (s *Standing) apply(result v1alpha1.Result) {
	decision, err := ApplyVerification(s.History, result)
	if err != nil {
		return
	}
	s.Last = &decision
	if decision.Event != "" {
		s.History = append(s.History, decision.Event)
	}
}

// MaySubmit is a *RepairCapError if the session has failed: another candidate would be
// one repair too many.
func (s *Standing) MaySubmit() error {
	if s.Last == nil || s.Last.State != Failed {
		return nil
	}
	return AssertRepairAllowed(s.History)
}
