package cli

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/lifecycle"
	"github.com/ai-dossier/zt-operator/internal/safetext"
)

// checkSession checks the two flags of a session against one another.
func (o *runOptions) checkSession() error {
	problems := validation.IsValidLabelValue(o.session)
	switch {
	case len(problems) > 0:
		return fmt.Errorf("--session is %q, expected the value of a label: %s", o.session, strings.Join(problems, "; "))
	case o.sessionEvent != "" && o.session == "":
		return fmt.Errorf("--session-event is %q, expected with it a --session", o.sessionEvent)
	case o.sessionEvent != "" && !lifecycle.Event(o.sessionEvent).Begins():
		return fmt.Errorf("--session-event is %q, expected %s or %s", o.sessionEvent, lifecycle.PlanApproved, lifecycle.RevisionRequested)
	}
	return nil
}

// allowed refuses a candidate that would be one repair too many in its session.
func (o *runOptions) allowed(ctx context.Context, c client.Client, namespace string) error {
	if o.session == "" {
		return nil
	}
	standing, err := standingOf(ctx, c, namespace, o.session)
	if err != nil {
		return err
	}
	standing.Begin(lifecycle.Event(o.sessionEvent))
	if err := standing.MaySubmit(); err != nil {
		return fmt.Errorf("session %s has failed: %w; if somebody asked for another revision, say so with --session-event=%s",
			o.session, err, lifecycle.RevisionRequested)
	}
	return nil
}

// nextStep tells a run's session what follows from its verdict.
func (w *waiter) nextStep(ctx context.Context, c client.Client, run *v1alpha1.ZTRun) error {
	session := run.Labels[v1alpha1.SessionLabel]
	if session == "" {
		return nil
	}
	standing, err := standingOf(ctx, c, run.Namespace, session)
	if err != nil {
		return err
	}
	next := "none yet, no verdict came"
	if d := standing.Last; d != nil {
		next = string(d.State)
		if d.Reason != "" {
			next += " (" + d.Reason + ")"
		}
	}
	fmt.Fprintf(w.ErrOut, "session %s: next %s; repairs: %d of %d\n",
		safetext.Line(session, validation.LabelValueMaxLength), next, lifecycle.RepairsUsed(standing.History), lifecycle.MaxRepairs)
	return nil
}

func standingOf(ctx context.Context, c client.Client, namespace, session string) (lifecycle.Standing, error) {
	runs := &v1alpha1.ZTRunList{}
	if err := c.List(ctx, runs, client.InNamespace(namespace), client.MatchingLabels{v1alpha1.SessionLabel: session}); err != nil {
		return lifecycle.Standing{}, fmt.Errorf("list the runs of session %s: %w", session, err)
	}
	return lifecycle.Replay(runs.Items), nil
}
