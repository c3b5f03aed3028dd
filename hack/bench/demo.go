package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// runFigures are what a whole run measured of itself, in milliseconds.
type runFigures struct {
	CreatedToVerdict int64                       `json:"createdToVerdict"`
	AgentStartToEnd  int64                       `json:"agentStartToEnd"`
	Trees            map[string]map[string]int64 `json:"trees"`
}

// readDemo returns the figures of the last demo's run, or nil if there was none.
func readDemo(dir string) (*runFigures, error) {
	text, err := os.ReadFile(filepath.Join(dir, "ztrun.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the demo's run: %w", err)
	}
	var run v1alpha1.ZTRun
	if err := json.Unmarshal(text, &run); err != nil {
		return nil, fmt.Errorf("decoding the demo's run: %w", err)
	}
	if run.Status.Timings == nil || run.Status.Timings.Judged == nil || run.Status.Execution == nil {
		return nil, nil
	}
	figures := &runFigures{
		CreatedToVerdict: run.Status.Timings.Judged.Sub(run.CreationTimestamp.Time).Milliseconds(),
		AgentStartToEnd:  between(run.Status.Execution),
		Trees:            map[string]map[string]int64{},
	}
	for i := range run.Status.Execution.Trees {
		tree := &run.Status.Execution.Trees[i]
		figures.Trees[string(tree.Name)] = treeFigures(tree)
	}
	return figures, nil
}

func between(execution *v1alpha1.ExecutionStatus) int64 {
	if execution.StartedAt == nil || execution.FinishedAt == nil {
		return 0
	}
	return execution.FinishedAt.Sub(execution.StartedAt.Time).Round(time.Millisecond).Milliseconds()
}

func treeFigures(tree *v1alpha1.TreeStatus) map[string]int64 {
	figures := map[string]int64{
		"boot":        tree.Timings.BootMillis,
		"phaseSwitch": tree.Timings.PhaseSwitchMillis,
		"powerOff":    tree.Timings.PowerOffMillis,
		"destroy":     tree.Timings.DestroyMillis,
	}
	for i := range tree.Commands {
		figures["command "+tree.Commands[i].Name] = tree.Commands[i].DurationMillis
	}
	return figures
}
