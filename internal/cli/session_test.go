package cli

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

func TestASessionIsToldItsNextStepAndHeldToTwoRepairs(t *testing.T) {
	p := newPlugin(t, &v1alpha1.Outcome{Result: v1alpha1.ResultInconclusive, Detail: "because"})
	submit := func(name string, more ...string) int {
		p.errOut.Reset()
		return p.run(t.Context(), append([]string{"--name", name, "--session", "parse-bug"}, more...)...)
	}
	for i, want := range []string{
		"session parse-bug: next implementing; repairs: 1 of 2\n",
		"session parse-bug: next implementing; repairs: 2 of 2\n",
		"session parse-bug: next failed (execution_failed); repairs: 2 of 2\n",
	} {
		if code := submit(fmt.Sprintf("fix-%d", i)); code != ExitOtherVerdict || !strings.HasSuffix(p.errOut.String(), want) {
			t.Errorf("candidate %d: exit code %d, said %q, want %q", i, code, p.errOut, want)
		}
	}
	if code := submit("fix-3"); code != ExitRefusedOrFailed || !strings.Contains(p.errOut.String(), "session parse-bug has failed: 2 repairs were used") {
		t.Errorf("a third repair: exit code %d, said %q", code, p.errOut)
	}
	if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: "team-a", Name: "fix-3"}, &v1alpha1.ZTRun{}); err == nil {
		t.Error("the refused candidate was submitted")
	}
	if code := submit("fix-4", "--session-event", "revision_requested"); code != ExitOtherVerdict || !strings.Contains(p.errOut.String(), "next implementing; repairs: 1 of 2") {
		t.Errorf("after a requested revision: exit code %d, said %q", code, p.errOut)
	}
	p.errOut.Reset()
	if code := p.run(t.Context(), "--name", "alone"); code != ExitOtherVerdict || strings.Contains(p.errOut.String(), "session") {
		t.Errorf("a run without a session: exit code %d, said %q", code, p.errOut)
	}
	p.errOut.Reset()
	if code := p.run(t.Context(), "--name", "elsewhere", "--session", "other-bug"); code != ExitOtherVerdict || !strings.Contains(p.errOut.String(), "repairs: 1 of 2") {
		t.Errorf("another session: exit code %d, said %q", code, p.errOut)
	}
}

func TestSessionFlagsAreChecked(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"a session that is no label":            {[]string{"--session", "a b"}, `--session is "a b"`},
		"an event without a session":            {[]string{"--session-event", "plan_approved"}, "expected with it a --session"},
		"an event that does not begin the work": {[]string{"--session", "s", "--session-event", "repair_required"}, "expected plan_approved or revision_requested"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlugin(t, nil)
			if got := p.run(t.Context(), tc.args...); got != ExitUsageOrTimeout || !strings.Contains(p.errOut.String(), tc.want) {
				t.Errorf("exit code %d, said %q, want %q", got, p.errOut, tc.want)
			}
		})
	}
}
