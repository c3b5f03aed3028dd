package report

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

func finishedRun() *v1alpha1.ZTRun {
	at := func(seconds int) *metav1.Time { return &metav1.Time{Time: time.Unix(int64(seconds), 0)} }
	run := &v1alpha1.ZTRun{}
	run.CreationTimestamp = *at(100)
	run.Status = v1alpha1.ZTRunStatus{
		Outcome: &v1alpha1.Outcome{Result: v1alpha1.ResultReproducedAndFixed},
		Timings: &v1alpha1.RunTimings{Judged: at(190)},
		Execution: &v1alpha1.ExecutionStatus{
			StartedAt: at(101), FinishedAt: at(189), Accelerator: v1alpha1.AcceleratorTCG,
			Source: &v1alpha1.SourceStatus{Ecosystem: v1alpha1.EcosystemUV, Runtime: "python-3.13"},
			Trees: []v1alpha1.TreeStatus{
				{Name: v1alpha1.TreeBase, Timings: v1alpha1.VMTimings{BootMillis: 2000},
					Commands: []v1alpha1.CommandStatus{{Name: "suite", DurationMillis: 900}}},
				{Name: v1alpha1.TreeCandidate, Timings: v1alpha1.VMTimings{BootMillis: 4000}},
			},
		},
	}
	return run
}

func TestOfRunReadsTheRunAndItsTrees(t *testing.T) {
	run, err := OfRun(finishedRun())
	if err != nil {
		t.Fatal(err)
	}
	if run.Millis["createdToVerdict"] != 90_000 || run.Millis["agentStartToEnd"] != 88_000 || run.Ecosystem != "uv" {
		t.Errorf("%+v", run)
	}
	if run.Trees["Base"]["suite"] != 900 || run.Trees["Candidate"]["boot"] != 4000 {
		t.Errorf("trees are %v", run.Trees)
	}
	all := Summary([]Run{run})
	if all["boot"] != (Figure{2000, 3000, 4000, 2}) || all["suite"] != (Figure{900, 900, 900, 1}) {
		t.Errorf("%v", all)
	}
}

func TestARunThatIsNotJudgedHasNoFigures(t *testing.T) {
	for name, spoil := range map[string]func(*v1alpha1.ZTRun){
		"without moments":    func(r *v1alpha1.ZTRun) { r.Status.Timings = nil },
		"without a verdict":  func(r *v1alpha1.ZTRun) { r.Status.Timings.Judged = nil },
		"without an outcome": func(r *v1alpha1.ZTRun) { r.Status.Outcome = nil },
		"without an attempt": func(r *v1alpha1.ZTRun) { r.Status.Execution = nil },
	} {
		t.Run(name, func(t *testing.T) {
			run := finishedRun()
			spoil(run)
			if _, err := OfRun(run); !errors.Is(err, ErrUnfinished) {
				t.Errorf("%v", err)
			}
		})
	}
}
