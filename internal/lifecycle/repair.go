package lifecycle

import (
	"fmt"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// Event is one entry of a session's history. Events of other names may stand between
// these; they count for nothing here.
type Event string

// The events that the count of repairs is made from.
const (
	// PlanApproved begins the work on a plan.
	PlanApproved Event = "plan_approved"
	// RevisionRequested begins it again: somebody asked for another candidate.
	RevisionRequested Event = "revision_requested"
	// RepairRequired: a verdict sent the candidate back to be repaired.
	RepairRequired Event = "repair_required"
)

// Begins reports whether repairs are counted anew from the event on.
func (e Event) Begins() bool { return e == PlanApproved || e == RevisionRequested }

// State is where a session stands.
type State string

// The states that a verifying session can go to.
const (
	// Shipping: the candidate is proven.
	Shipping State = "shipping"
	// Implementing: the candidate is to be repaired.
	Implementing State = "implementing"
	// Failed: no repair is left.
	Failed State = "failed"
	// HandedOff: the base does not show the bug, which no repair of a candidate can
	// change; people are to look at the regression test.
	HandedOff State = "handed_off"
)

// MaxRepairs bounds the repairs between two events that begin the work.
const MaxRepairs = 2

// ReasonExecutionFailed is why a session without a repair left has failed.
const ReasonExecutionFailed = "execution_failed"

// Decision is what follows from one verdict.
type Decision struct {
	// State the session goes to.
	State State
	// Reason of a failed session, else empty.
	Reason string
	// Event to append to the history, or empty.
	Event Event
}

// RepairCapError says that no repair is left.
type RepairCapError struct{ Used int }

func (e *RepairCapError) Error() string {
	return fmt.Sprintf("%d repairs were used since the plan was approved or a revision requested, and at most %d are allowed", e.Used, MaxRepairs)
}

// NoVerdictError says that a result is no verdict: a refusal or a failure of the
// environment, which a repair of the candidate cannot mend and must not be charged for.
type NoVerdictError struct{ Result v1alpha1.Result }

func (e *NoVerdictError) Error() string {
	return fmt.Sprintf("%q is no verdict on a candidate", string(e.Result))
}

// RepairsUsed counts the repairs since the work last began.
func RepairsUsed(history []Event) int {
	used := 0
	for _, event := range history {
		switch {
		case event.Begins():
			used = 0
		case event == RepairRequired:
			used++
		}
	}
	return used
}

// AssertRepairAllowed is a *RepairCapError if no repair is left.
func AssertRepairAllowed(history []Event) error {
	if used := RepairsUsed(history); used >= MaxRepairs {
		return &RepairCapError{used}
	}
	return nil
}

// ApplyVerification says where a verifying session goes. It appends nothing: the caller
// records Decision.Event. The error is a *NoVerdictError; the session then stays where
// it is.
func ApplyVerification(history []Event, verdict v1alpha1.Result) (Decision, error) {
	switch verdict {
	case v1alpha1.ResultReproducedAndFixed:
		return Decision{State: Shipping}, nil
	case v1alpha1.ResultNotReproduced:
		return Decision{State: HandedOff}, nil
	case v1alpha1.ResultNotFixed, v1alpha1.ResultRegressed, v1alpha1.ResultInconclusive:
		if RepairsUsed(history) >= MaxRepairs {
			return Decision{State: Failed, Reason: ReasonExecutionFailed}, nil
		}
		return Decision{State: Implementing, Event: RepairRequired}, nil
	}
	return Decision{}, &NoVerdictError{verdict}
}
