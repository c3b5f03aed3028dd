package lifecycle

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// session is runs in the order of their creation, a minute apart: each the event before
// it, and its result; empty for none.
func session(steps ...[2]string) []v1alpha1.ZTRun {
	var runs []v1alpha1.ZTRun
	for i, step := range steps {
		run := v1alpha1.ZTRun{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("run-%d", i), CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 2, 3, i, 0, 0, time.UTC)),
		}}
		if step[0] != "" {
			run.Annotations = map[string]string{v1alpha1.SessionEventAnnotation: step[0]}
		}
		if step[1] != "" {
			run.Status.Outcome = &v1alpha1.Outcome{Result: v1alpha1.Result(step[1])}
		}
		runs = append(runs, run)
	}
	return runs
}

func TestReplay(t *testing.T) {
	for name, tc := range map[string]struct {
		runs    []v1alpha1.ZTRun
		history []Event
		state   State
		refused bool
	}{
		"no run":             {nil, nil, "", false},
		"a run that goes on": {session([2]string{"plan_approved", ""}), []Event{PlanApproved}, "", false},
		"three candidates that do not work": {
			session([2]string{"plan_approved", "not_fixed"}, [2]string{"", "inconclusive"}, [2]string{"", "regressed"}),
			[]Event{PlanApproved, RepairRequired, RepairRequired}, Failed, true},
		"two, so one repair is left to be verified": {
			session([2]string{"", "not_fixed"}, [2]string{"", "not_fixed"}), []Event{RepairRequired, RepairRequired}, Implementing, false},
		"a revision after the session failed": {
			session([2]string{"", "not_fixed"}, [2]string{"", "not_fixed"}, [2]string{"", "not_fixed"}, [2]string{"revision_requested", ""}),
			[]Event{RepairRequired, RepairRequired, RevisionRequested}, "", false},
		"failures of the environment are charged to nobody": {
			session([2]string{"plan_approved", "not_fixed"}, [2]string{"", "provisioning_failed"}, [2]string{"", "execution_failed"},
				[2]string{"", "not_admitted"}), []Event{PlanApproved, RepairRequired}, Implementing, false},
		"an event that only the outcome of a run may add": {
			session([2]string{"repair_required", "not_fixed"}), []Event{RepairRequired}, Implementing, false},
		"a candidate that works after a repair": {
			session([2]string{"", "not_fixed"}, [2]string{"", "reproduced_and_fixed"}), []Event{RepairRequired}, Shipping, false},
	} {
		t.Run(name, func(t *testing.T) {
			shuffled := slices.Clone(tc.runs)
			slices.Reverse(shuffled)
			for _, runs := range [][]v1alpha1.ZTRun{tc.runs, shuffled} {
				got := Replay(runs)
				if !slices.Equal(got.History, tc.history) {
					t.Errorf("history %v, want %v", got.History, tc.history)
				}
				if (got.Last == nil) != (tc.state == "") || got.Last != nil && got.Last.State != tc.state {
					t.Errorf("last %+v, want %q", got.Last, tc.state)
				}
				var no *RepairCapError
				if errors.As(got.MaySubmit(), &no) != tc.refused {
					t.Errorf("another run: %v, want refused %v", got.MaySubmit(), tc.refused)
				}
			}
		})
	}
}

func TestARevisionMakesRoomAfterAFailure(t *testing.T) {
	s := Replay(session([2]string{"", "not_fixed"}, [2]string{"", "not_fixed"}, [2]string{"", "not_fixed"}))
	s.Begin("not_an_event")
	if s.MaySubmit() == nil {
		t.Error("an event that is none made room")
	}
	s.Begin(RevisionRequested)
	if err := s.MaySubmit(); err != nil {
		t.Error(err)
	}
}
