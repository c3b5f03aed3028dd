package engine

import (
	"errors"
	"fmt"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
	"github.com/ai-dossier/zt-operator/internal/protect"
	"github.com/ai-dossier/zt-operator/internal/runtimes"
	"github.com/ai-dossier/zt-operator/internal/sentinel"
	"github.com/ai-dossier/zt-operator/nodeagent/source"
)

// trees is how many trees a regression proof has.
const trees = 3

// TreeOrder is the order in which the trees of a regression proof are executed.
var TreeOrder = [trees]v1alpha1.TreeName{v1alpha1.TreeBase, v1alpha1.TreeRegressionTest, v1alpha1.TreeCandidate}

// Prepared is what the trees need: one ecosystem, one runtime and one plan for all
// of them.
type Prepared struct {
	Detection ecosystem.Detection
	Runtime   v1alpha1.Runtime
	Plan      ecosystem.Plan
}

// Prepare detects every tree and selects the runtime that satisfies all of them.
// Errors are *ecosystem.Refusal.
func Prepare(src *source.Source, profile v1alpha1.ZTProfileSpec, targets []v1alpha1.TargetPath) (*Prepared, error) {
	var prepared Prepared
	var declarations []runtimes.Declaration
	for i, name := range TreeOrder {
		detection, err := ecosystem.Detect(src.Trees[name].Root)
		if err != nil {
			return nil, inTree(name, err)
		}
		if i > 0 && detection.Ecosystem != prepared.Detection.Ecosystem {
			return nil, inTree(name, &ecosystem.Refusal{
				Detail:  v1alpha1.DetailAmbiguousManager,
				Message: fmt.Sprintf("the trees differ: %s before, %s here; one proof runs in one ecosystem", prepared.Detection.Ecosystem, detection.Ecosystem),
			})
		}
		if i > 0 && detection.Runner != prepared.Detection.Runner {
			return nil, inTree(name, &ecosystem.Refusal{
				Detail: v1alpha1.DetailNoTestRunner, Subject: "scripts.test",
				Message: fmt.Sprintf("the trees differ: %s runs the tests before, %s here; their results cannot be compared", prepared.Detection.Runner, detection.Runner),
			})
		}
		prepared.Detection = detection
		declarations = append(declarations, detection.Declarations...)
	}
	if err := offered(prepared.Detection.Ecosystem, profile); err != nil {
		return nil, err
	}
	if err := trustworthy(src, targets); err != nil {
		return nil, err
	}
	var err error
	prepared.Runtime, err = runtimes.Select(declarations, prepared.Detection.Ecosystem, profile.Runtimes)
	if err != nil {
		return nil, fmt.Errorf("selecting a runtime: %w", err)
	}
	// What depends on the runtime: environment markers, and which wheels it can install.
	for _, name := range TreeOrder {
		if err := ecosystem.Fits(src.Trees[name].Root, prepared.Detection, prepared.Runtime); err != nil {
			return nil, inTree(name, err)
		}
	}
	prepared.Plan = ecosystem.PlanFor(prepared.Detection, prepared.Runtime, paths(targets), mirrorURL)
	return &prepared, nil
}

// mirrorURL is where a worker finds its package mirror: the relay on its own
// loopback.
var mirrorURL = fmt.Sprintf("http://127.0.0.1:%d/", brokerproto.RelayWorkerPort)

func offered(eco v1alpha1.Ecosystem, profile v1alpha1.ZTProfileSpec) error {
	for _, mirror := range profile.Proxy.Mirrors {
		if mirror.Ecosystem == eco {
			return nil
		}
	}
	return &ecosystem.Refusal{
		Detail:  v1alpha1.DetailEcosystemNotOffered,
		Subject: string(eco),
		Message: fmt.Sprintf("the profile has no package mirror for %s", eco),
	}
}

// trustworthy refuses a proof whose candidate could not be believed: it changes what
// judges it, or nothing can be planted beside its targets. Files were compared when
// the source was read; this compares what is in them.
func trustworthy(src *source.Source, targets []v1alpha1.TargetPath) error {
	was, is := src.Trees[v1alpha1.TreeRegressionTest].Root.Content, src.Trees[v1alpha1.TreeCandidate].Root.Content
	if refused := protect.Contents(was, is); refused != nil {
		return refused
	}
	for _, target := range targets {
		if sentinel.Plantable(string(target)) {
			return nil
		}
	}
	return &ecosystem.Refusal{
		Detail: v1alpha1.DetailTargetUnsupported, Subject: string(targets[0]),
		Message: "no target is a test file in JavaScript, TypeScript or Python",
	}
}

func inTree(name v1alpha1.TreeName, err error) error {
	var refusal *ecosystem.Refusal
	if !errors.As(err, &refusal) {
		return fmt.Errorf("tree %s: %w", name, err)
	}
	named := *refusal
	named.Message = fmt.Sprintf("tree %s: %s", name, refusal.Message)
	return &named
}

func paths(targets []v1alpha1.TargetPath) []string {
	out := make([]string, len(targets))
	for i, target := range targets {
		out[i] = string(target)
	}
	return out
}
