package lifecycle

import (
	"errors"
	"slices"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// verify applies verdicts one after the other, recording each event, and returns the
// states they led to.
func verify(t *testing.T, history []Event, verdicts ...v1alpha1.Result) (states []State, after []Event) {
	t.Helper()
	for _, verdict := range verdicts {
		decision, err := ApplyVerification(history, verdict)
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, decision.State)
		if decision.Event != "" {
			history = append(slices.Clone(history), decision.Event)
		}
	}
	return states, history
}

const (
	fixed        = v1alpha1.ResultReproducedAndFixed
	notFixed     = v1alpha1.ResultNotFixed
	regressed    = v1alpha1.ResultRegressed
	inconclusive = v1alpha1.ResultInconclusive
)

func TestApplyVerification(t *testing.T) {
	for name, tc := range map[string]struct {
		history  []Event
		verdicts []v1alpha1.Result
		want     []State
	}{
		"three inconclusive verdicts fail the session": {
			[]Event{PlanApproved}, []v1alpha1.Result{inconclusive, inconclusive, inconclusive}, []State{Implementing, Implementing, Failed}},
		"so do three of different kinds": {
			[]Event{PlanApproved}, []v1alpha1.Result{notFixed, regressed, inconclusive}, []State{Implementing, Implementing, Failed}},
		"and three in a history that states no plan": {
			nil, []v1alpha1.Result{notFixed, notFixed, notFixed}, []State{Implementing, Implementing, Failed}},
		"a failed session stays failed": {
			[]Event{PlanApproved, RepairRequired, RepairRequired}, []v1alpha1.Result{notFixed, notFixed}, []State{Failed, Failed}},
		"a proven candidate ships at once": {[]Event{PlanApproved}, []v1alpha1.Result{fixed}, []State{Shipping}},
		"a proven candidate ships after the last repair": {
			[]Event{PlanApproved, RepairRequired, RepairRequired}, []v1alpha1.Result{fixed}, []State{Shipping}},
		"a requested revision has its own two repairs": {
			[]Event{PlanApproved, RepairRequired, RepairRequired, RevisionRequested}, []v1alpha1.Result{notFixed, notFixed, notFixed},
			[]State{Implementing, Implementing, Failed}},
		"so has a plan that was approved anew": {
			[]Event{PlanApproved, RepairRequired, PlanApproved, RepairRequired}, []v1alpha1.Result{notFixed, notFixed}, []State{Implementing, Failed}},
		"events of other names count for nothing": {
			[]Event{"run_created", PlanApproved, "candidate_submitted", RepairRequired, "verification_started"}, []v1alpha1.Result{notFixed, notFixed},
			[]State{Implementing, Failed}},
		"a bug that the base does not show is handed off, whatever was repaired": {
			[]Event{PlanApproved, RepairRequired, RepairRequired}, []v1alpha1.Result{v1alpha1.ResultNotReproduced}, []State{HandedOff}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := verify(t, tc.history, tc.verdicts...); !slices.Equal(got, tc.want) {
				t.Errorf("went to %v, want %v", got, tc.want)
			}
		})
	}
}

func TestOnlyAFailedSessionHasAReason(t *testing.T) {
	spent := []Event{RepairRequired, RepairRequired}
	for verdict, want := range map[v1alpha1.Result]string{fixed: "", notFixed: ReasonExecutionFailed} {
		if decision, err := ApplyVerification(spent, verdict); err != nil || decision.Reason != want || decision.Event != "" {
			t.Errorf("%s: %+v, %v, want reason %q and no event", verdict, decision, err, want)
		}
	}
}

func TestWhatIsNoVerdictIsNoRepair(t *testing.T) {
	for _, result := range []v1alpha1.Result{
		v1alpha1.ResultProvisioningFailed, v1alpha1.ResultUnsupportedEnvironment, v1alpha1.ResultInvalidSource,
		v1alpha1.ResultNotAdmitted, v1alpha1.ResultExecutionFailed, "", "no_such_result",
	} {
		decision, err := ApplyVerification(nil, result)
		var no *NoVerdictError
		if !errors.As(err, &no) || no.Result != result || decision != (Decision{}) {
			t.Errorf("%q gave %+v, %v", result, decision, err)
		}
	}
}

func TestAThirdRepairIsRefused(t *testing.T) {
	history := []Event{PlanApproved}
	for used := range MaxRepairs {
		if err := AssertRepairAllowed(history); err != nil {
			t.Errorf("repair %d is refused: %v", used+1, err)
		}
		history = append(history, RepairRequired)
	}
	var refused *RepairCapError
	if err := AssertRepairAllowed(history); !errors.As(err, &refused) || refused.Used != MaxRepairs {
		t.Errorf("a third repair gave %v", err)
	}
	if err := AssertRepairAllowed(append(history, RevisionRequested)); err != nil {
		t.Errorf("after a requested revision: %v", err)
	}
}

// FuzzTheCapHoldsInAnyHistory reads a history from bytes and verifies candidates that
// never work: whatever came before, at most two of them are sent back before the session
// fails, and nothing is sent back after that.
func FuzzTheCapHoldsInAnyHistory(f *testing.F) {
	f.Add([]byte{0, 2, 2, 1, 2}, uint8(3))
	f.Add([]byte{}, uint8(9))
	alphabet := []Event{PlanApproved, RevisionRequested, RepairRequired, "something_else"}
	verdicts := []v1alpha1.Result{notFixed, regressed, inconclusive}
	f.Fuzz(func(t *testing.T, raw []byte, tries uint8) {
		history := make([]Event, len(raw))
		for i, b := range raw {
			history[i] = alphabet[int(b)%len(alphabet)]
		}
		before := slices.Clone(history)
		left := max(0, MaxRepairs-RepairsUsed(history))
		sentBack, failed := 0, false
		for i := range int(tries) {
			decision, err := ApplyVerification(history, verdicts[i%len(verdicts)])
			if err != nil {
				t.Fatal(err)
			}
			if allowed := AssertRepairAllowed(history) == nil; allowed != (decision.State == Implementing) {
				t.Fatalf("after %v a repair is allowed: %v, and the session goes to %s", history, allowed, decision.State)
			}
			switch decision.State {
			case Implementing:
				sentBack++
				if failed {
					t.Fatalf("sent back after it had failed: %v", history)
				}
			case Failed:
				failed = true
			default:
				t.Fatalf("a candidate that does not work led to %s", decision.State)
			}
			if decision.Event != "" {
				history = append(history, decision.Event)
			}
		}
		if sentBack != min(left, int(tries)) || failed != (int(tries) > left) {
			t.Fatalf("from %v, with %d repairs left, %d of %d tries were sent back, failed %v", before, left, sentBack, tries, failed)
		}
		if !slices.Equal(history[:len(before)], before) {
			t.Fatal("the history was changed")
		}
	})
}
