package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

var fixKey = client.ObjectKey{Namespace: "team-a", Name: "fix"}

// pausedRun is a run whose second attempt could not install its dependencies.
func pausedRun() *v1alpha1.ZTRun {
	run := &v1alpha1.ZTRun{ObjectMeta: metav1.ObjectMeta{Namespace: fixKey.Namespace, Name: fixKey.Name}}
	run.Status.Phase, run.Status.Attempt = v1alpha1.PhasePaused, 2
	run.Status.Attempts = []v1alpha1.AttemptRecord{
		{Attempt: 1, End: v1alpha1.AttemptInterrupted, Detail: v1alpha1.DetailExecutionInterrupted},
		{Attempt: 2, End: v1alpha1.AttemptPaused, Detail: v1alpha1.DetailRegistryFailed, Subject: "Base/install", Message: "install exited 1", NodeName: "n1"},
	}
	return run
}

func (p *plugin) put(t *testing.T, run *v1alpha1.ZTRun) {
	t.Helper()
	status := run.Status
	if err := p.client.Create(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	run.Status = status
	if err := p.client.Status().Update(t.Context(), run); err != nil {
		t.Fatal(err)
	}
}

// operator answers a resume as the operator does, and then with an outcome.
func (p *plugin) operator(t *testing.T, outcome v1alpha1.Outcome) {
	inner := p.client
	p.client = interceptor.NewClient(inner, interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
		if err := c.Patch(ctx, obj, patch, opts...); err != nil {
			return err
		}
		run := &v1alpha1.ZTRun{}
		if err := c.Get(ctx, client.ObjectKeyFromObject(obj), run); err != nil {
			return err
		}
		if run.Annotations[v1alpha1.ResumeAnnotation] != fmt.Sprint(run.Status.Attempt) {
			t.Errorf("the annotation is %q, the paused attempt %d", run.Annotations[v1alpha1.ResumeAnnotation], run.Status.Attempt)
		}
		go func() {
			time.Sleep(50 * time.Millisecond)
			run.Status.Attempt++
			run.Status.Phase, run.Status.Outcome = v1alpha1.PhaseComplete, &outcome
			meta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionTrue, Reason: "Done"})
			if err := c.Status().Update(context.Background(), run); err != nil {
				t.Error(err)
			}
		}()
		return nil
	}})
}

func TestAPausedRunEndsTheWaitWithWhatToDo(t *testing.T) {
	p := newPlugin(t, nil)
	p.put(t, pausedRun())
	if got := p.app.main(t.Context(), []string{"watch", "-n", "team-a", "fix"}); got != ExitPaused {
		t.Errorf("exit code = %d, want %d\n%s", got, ExitPaused, p.errOut)
	}
	entry, _ := v1alpha1.Explain(v1alpha1.DetailRegistryFailed)
	for _, want := range []string{
		"ztrun team-a/fix: paused (registry_failed), attempt 2 of at most 8 on n1\n", "subject: Base/install", "install exited 1", entry.Remedy,
		"kubectl zt resume -n team-a fix\n", "kubectl delete ztr -n team-a fix\n",
	} {
		if !strings.Contains(p.out.String(), want) {
			t.Errorf("printed\n%s\nwithout %q", p.out, want)
		}
	}
}

func TestRunEndsWithThePauseToo(t *testing.T) {
	p := newPlugin(t, nil)
	inner := p.client
	p.client = interceptor.NewClient(inner, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
		if err := c.Create(ctx, obj, opts...); err != nil {
			return err
		}
		if run, ok := obj.(*v1alpha1.ZTRun); ok {
			paused := run.DeepCopy()
			paused.Status = pausedRun().Status
			return c.Status().Update(ctx, paused)
		}
		return nil
	}})
	if got := p.run(t.Context()); got != ExitPaused {
		t.Errorf("exit code = %d, want %d\n%s", got, ExitPaused, p.errOut)
	}
}

func TestResumeFollowsTheNextAttempt(t *testing.T) {
	for result, want := range map[v1alpha1.Result]int{
		v1alpha1.ResultReproducedAndFixed: ExitReproducedAndFixed, v1alpha1.ResultNotFixed: ExitOtherVerdict, v1alpha1.ResultInvalidSource: ExitRefusedOrFailed,
	} {
		t.Run(string(result), func(t *testing.T) {
			p := newPlugin(t, nil)
			p.put(t, pausedRun())
			p.operator(t, v1alpha1.Outcome{Result: result, Detail: "because"})
			if got := p.app.main(t.Context(), []string{"resume", "-n", "team-a", "fix"}); got != want {
				t.Errorf("exit code = %d, want %d\n%s", got, want, p.errOut)
			}
			if !strings.Contains(p.errOut.String(), "ztrun team-a/fix resumed: attempt 3 of at most 8") || !strings.Contains(p.out.String(), string(result)) {
				t.Errorf("said %q, printed %q", p.errOut, p.out)
			}
		})
	}
}

func TestResumeTwiceIsResumeOnce(t *testing.T) {
	p := newPlugin(t, nil)
	p.put(t, pausedRun())
	for range 2 {
		if got := p.app.main(t.Context(), []string{"resume", "-n", "team-a", "fix", "--wait=false"}); got != 0 {
			t.Errorf("exit code = %d\n%s", got, p.errOut)
		}
		run := &v1alpha1.ZTRun{}
		if err := p.client.Get(t.Context(), fixKey, run); err != nil {
			t.Fatal(err)
		}
		if got := run.Annotations[v1alpha1.ResumeAnnotation]; got != "2" {
			t.Errorf("the annotation is %q, want the paused attempt", got)
		}
	}
	if !strings.Contains(p.errOut.String(), "kubectl zt watch -n team-a fix") {
		t.Errorf("said %q", p.errOut)
	}
}

func TestResumeRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		phase v1alpha1.RunPhase
		args  []string
		patch error
		want  string
		code  int
	}{
		"a run that is not paused":                 {v1alpha1.PhaseRunning, []string{"fix"}, nil, "ztrun team-a/fix is Running, expected Paused", ExitRefusedOrFailed},
		"a run that the operator has not seen yet": {"", []string{"fix"}, nil, "is Pending, expected Paused", ExitRefusedOrFailed},
		"a run that is complete":                   {v1alpha1.PhaseComplete, []string{"fix"}, nil, "is Complete, expected Paused", ExitRefusedOrFailed},
		"a run that is not there":                  {v1alpha1.PhasePaused, []string{"other"}, nil, "not found", ExitRefusedOrFailed},
		"without the right to annotate it":         {v1alpha1.PhasePaused, []string{"fix"}, errors.New("no rights"), "no rights", ExitRefusedOrFailed},
		"without a name":                           {v1alpha1.PhasePaused, nil, nil, "accepts 1 arg", ExitUsageOrTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlugin(t, nil)
			run := pausedRun()
			run.Status.Phase = tc.phase
			p.put(t, run)
			if tc.patch != nil {
				p.client = interceptor.NewClient(p.client, interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
					return tc.patch
				}})
			}
			if got := p.app.main(t.Context(), append([]string{"resume", "-n", "team-a"}, tc.args...)); got != tc.code {
				t.Errorf("exit code = %d, want %d", got, tc.code)
			}
			if !strings.Contains(p.errOut.String(), tc.want) {
				t.Errorf("said %q, want %q", p.errOut, tc.want)
			}
		})
	}
}
