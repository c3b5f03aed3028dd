package follow

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newRun() *v1alpha1.ZTRun {
	return &v1alpha1.ZTRun{ObjectMeta: metav1.ObjectMeta{Name: "fix", Namespace: "team-a", CreationTimestamp: metav1.NewTime(start)}}
}

func condition(conditionType string, status metav1.ConditionStatus, message string) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: status, Reason: "R", Message: message}
}

func TestActivity(t *testing.T) {
	admitted := condition(v1alpha1.ConditionAdmitted, metav1.ConditionTrue, "admitted")
	waiting := condition(v1alpha1.ConditionScheduled, metav1.ConditionFalse, "no node has room")
	running := &v1alpha1.ExecutionStatus{Attempt: 1, State: v1alpha1.ExecutionRunning, Activity: "Base: npm ci"}
	for name, tc := range map[string]struct {
		status v1alpha1.ZTRunStatus
		want   string
	}{
		"a run nobody has looked at yet waits for the operator": {v1alpha1.ZTRunStatus{}, "waiting for the operator"},
		"before a node has it, the first open condition speaks": {v1alpha1.ZTRunStatus{Conditions: []metav1.Condition{admitted, waiting}}, "no node has room"},
		"a condition that is not reached yet says nothing": {
			v1alpha1.ZTRunStatus{Conditions: []metav1.Condition{admitted,
				{Type: v1alpha1.ConditionScheduled, Status: metav1.ConditionUnknown, Reason: "NotReached", Message: "the run has not come this far"},
				condition(v1alpha1.ConditionProxyReady, metav1.ConditionFalse, "Squid is starting")}}, "Squid is starting"},
		"while the node agent works, its words are shown": {
			v1alpha1.ZTRunStatus{Attempt: 1, Execution: running, Conditions: []metav1.Condition{waiting}}, "Base: npm ci"},
		"an earlier attempt's words are not shown": {
			v1alpha1.ZTRunStatus{Attempt: 2, Execution: running, Conditions: []metav1.Condition{waiting}}, "no node has room"},
		"while the agent waits for the proxy, the condition speaks": {
			v1alpha1.ZTRunStatus{Attempt: 1, Execution: &v1alpha1.ExecutionStatus{Attempt: 1, State: v1alpha1.ExecutionWaitingForProxy, Activity: "waiting"},
				Conditions: []metav1.Condition{condition(v1alpha1.ConditionProxyReady, metav1.ConditionFalse, "Squid is starting")}}, "Squid is starting"},
		"with an outcome, the verdict is shown before the cleanup ends": {
			v1alpha1.ZTRunStatus{Outcome: &v1alpha1.Outcome{Result: v1alpha1.ResultNotFixed}}, "not_fixed, removing what the run made"},
		"a complete run does nothing": {
			v1alpha1.ZTRunStatus{Outcome: &v1alpha1.Outcome{Result: v1alpha1.ResultNotFixed},
				Conditions: []metav1.Condition{condition(v1alpha1.ConditionComplete, metav1.ConditionTrue, "")}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			run := newRun()
			run.Status = tc.status
			if got := describe(run, start).activity; got != tc.want {
				t.Errorf("activity = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestPlainPrintsChangesOnly(t *testing.T) {
	out := &strings.Builder{}
	d := NewPlain(out)
	run := newRun()
	d.Show(run, start)
	d.Show(run, start.Add(5*time.Second))
	run.Status.Phase = v1alpha1.PhaseRunning
	run.Status.Attempt = 1
	run.Status.Execution = &v1alpha1.ExecutionStatus{Attempt: 1, State: v1alpha1.ExecutionRunning, Activity: "Base: boot"}
	d.Show(run, start.Add(65*time.Second))
	d.Show(run, start.Add(66*time.Second))
	d.Close()
	want := "    0s  Pending        waiting for the operator\n 1m05s  Running        Base: boot\n"
	if out.String() != want {
		t.Errorf("printed\n%swant\n%s", out, want)
	}
}

func TestElapsedTimeOfACompleteRunStandsStill(t *testing.T) {
	run := newRun()
	completed := metav1.NewTime(start.Add(90 * time.Second))
	run.Status.Phase, run.Status.Timings = v1alpha1.PhaseComplete, &v1alpha1.RunTimings{Completed: &completed}
	run.Status.Conditions = []metav1.Condition{condition(v1alpha1.ConditionComplete, metav1.ConditionTrue, "")}
	if got := describe(run, start.Add(time.Hour)).elapsed; got != 90*time.Second {
		t.Errorf("elapsed = %s, want 1m30s", got)
	}
}

func TestTerminalRewritesOneLineWithinItsWidth(t *testing.T) {
	out := &strings.Builder{}
	d := NewTerminal(out, func() int { return 40 })
	run := newRun()
	run.Status.Phase, run.Status.Attempt = v1alpha1.PhaseRunning, 1
	run.Status.Execution = &v1alpha1.ExecutionStatus{Attempt: 1, State: v1alpha1.ExecutionRunning, Activity: strings.Repeat("é", 100)}
	d.Show(run, start)
	d.Show(run, start)
	d.Show(run, start.Add(time.Second))
	d.Close()
	if strings.Contains(out.String(), "\n") {
		t.Errorf("a rewritten line has no newline: %q", out)
	}
	shown := strings.Split(out.String(), "\r\x1b[2K")
	if len(shown) != 4 || shown[0] != "" || shown[3] != "" {
		t.Fatalf("wrote %q, want two lines, each erased before the next", out)
	}
	for _, text := range shown[1:3] {
		if n := len([]rune(text)); n != 39 || !strings.HasSuffix(text, "é…") {
			t.Errorf("line %q has %d columns, want 39, clipped", text, n)
		}
	}
}

func TestStatusTextCannotDriveTheTerminal(t *testing.T) {
	hostile := "a\x1b]0;owned\x07\x1b[2J\rb\nc\u202ed"
	run := newRun()
	run.Status.Phase, run.Status.Attempt = v1alpha1.RunPhase("\x1b[31mRunning"), 1
	run.Status.Execution = &v1alpha1.ExecutionStatus{Attempt: 1, State: v1alpha1.ExecutionRunning, Activity: hostile}
	for name, display := range map[string]func(*strings.Builder) Display{
		"plain":    func(b *strings.Builder) Display { return NewPlain(b) },
		"terminal": func(b *strings.Builder) Display { return NewTerminal(b, func() int { return 200 }) },
	} {
		t.Run(name, func(t *testing.T) {
			out := &strings.Builder{}
			display(out).Show(run, start)
			text := strings.TrimSuffix(strings.TrimPrefix(out.String(), "\r\x1b[2K"), "\n")
			if strings.ContainsAny(text, "\x1b\x07\r\n\u202e") {
				t.Errorf("control characters reach the terminal: %q", text)
			}
			if !strings.Contains(text, "owned") {
				t.Errorf("the text itself is lost: %q", text)
			}
		})
	}
}

func TestDuration(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 999 * time.Millisecond, "59s": 59 * time.Second, "1m00s": time.Minute,
		"59m59s": time.Hour - time.Second, "1h00m00s": time.Hour, "25h01m02s": 25*time.Hour + 62*time.Second,
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%v) = %q, want %q", d, got, want)
		}
	}
}
