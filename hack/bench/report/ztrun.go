package report

import (
	"errors"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// ErrUnfinished is of a run that was not judged, or of which nothing was executed.
var ErrUnfinished = errors.New("the run was not executed and judged")

// OfRun reads what a run measured of itself. The API's moments have whole seconds.
func OfRun(run *v1alpha1.ZTRun) (Run, error) {
	status := &run.Status
	if status.Timings == nil || status.Timings.Judged == nil || status.Execution == nil || status.Outcome == nil {
		return Run{}, ErrUnfinished
	}
	out := Run{
		Name:        run.Name,
		Accelerator: string(status.Execution.Accelerator),
		Result:      string(status.Outcome.Result),
		Millis:      map[string]int64{"createdToVerdict": status.Timings.Judged.Sub(run.CreationTimestamp.Time).Milliseconds()},
		Trees:       map[string]map[string]int64{},
	}
	if source := status.Execution.Source; source != nil {
		out.Ecosystem, out.Runtime = string(source.Ecosystem), source.Runtime
	}
	if e := status.Execution; e.StartedAt != nil && e.FinishedAt != nil {
		out.Millis["agentStartToEnd"] = e.FinishedAt.Sub(e.StartedAt.Time).Round(time.Millisecond).Milliseconds()
	}
	for i := range status.Execution.Trees {
		tree := &status.Execution.Trees[i]
		out.Trees[string(tree.Name)] = ofTree(tree)
	}
	return out, nil
}

func ofTree(tree *v1alpha1.TreeStatus) map[string]int64 {
	steps := map[string]int64{
		"boot":        tree.Timings.BootMillis,
		"provision":   tree.Timings.ProvisionMillis,
		"phaseSwitch": tree.Timings.PhaseSwitchMillis,
		"powerOff":    tree.Timings.PowerOffMillis,
		"verify":      tree.Timings.VerifyMillis,
		"destroy":     tree.Timings.DestroyMillis,
	}
	for i := range tree.Commands {
		steps[tree.Commands[i].Name] = tree.Commands[i].DurationMillis
	}
	return steps
}

// Summary is the figures over all trees of runs, and over the runs themselves.
func Summary(runs []Run) map[string]Figure {
	samples := Samples{}
	for _, run := range runs {
		for step, millis := range run.Millis {
			samples[step] = append(samples[step], millis)
		}
		for _, tree := range run.Trees {
			for step, millis := range tree {
				samples[step] = append(samples[step], millis)
			}
		}
	}
	return samples.Figures()
}
