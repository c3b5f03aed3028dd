package builders

import (
	"k8s.io/utils/ptr"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/runtimes"
)

// ExecutionBuilder builds a node agent's record.
type ExecutionBuilder struct{ e v1alpha1.ExecutionStatus }

// Execution is the record of an attempt whose source was read.
func Execution(attempt int32, sourceDigest string) *ExecutionBuilder {
	return &ExecutionBuilder{v1alpha1.ExecutionStatus{
		Attempt: attempt,
		State:   v1alpha1.ExecutionWaitingForProxy,
		Source: &v1alpha1.SourceStatus{
			Digest: sourceDigest, Ecosystem: v1alpha1.EcosystemNPM, Runtime: "node-22", Selected: Selected(), Packages: 93,
		},
	}}
}

// Selected is the record of Profile's one runtime.
func Selected() *v1alpha1.RuntimeRecord {
	spec := Profile("").Object().Spec
	return runtimes.Record(spec.Runtimes[0], v1alpha1.EcosystemNPM, spec.Guest)
}

// Select has the node agent select another runtime.
func (b *ExecutionBuilder) Select(change func(*v1alpha1.RuntimeRecord)) *ExecutionBuilder {
	change(b.e.Source.Selected)
	return b
}

// State is how far the agent is.
func (b *ExecutionBuilder) State(state v1alpha1.ExecutionState) *ExecutionBuilder {
	b.e.State = state
	return b
}

// Finished by itself, with the node clean.
func (b *ExecutionBuilder) Finished() *ExecutionBuilder {
	b.e.State, b.e.Cleaned = v1alpha1.ExecutionFinished, true
	return b
}

// Failed ends the attempt without full evidence.
func (b *ExecutionBuilder) Failed(result v1alpha1.Result, detail v1alpha1.Detail) *ExecutionBuilder {
	b.e.Failure = &v1alpha1.Outcome{Result: result, Detail: detail, Message: "as the agent saw it"}
	return b.Finished()
}

// Without drops the record of the source.
func (b *ExecutionBuilder) Without() *ExecutionBuilder { b.e.Source = nil; return b }

// Tree adds a tree whose VM is gone, with its provisioning command succeeded and
// the given commands after it.
func (b *ExecutionBuilder) Tree(name v1alpha1.TreeName, commit string, commands ...v1alpha1.CommandStatus) *ExecutionBuilder {
	install := Command("install", v1alpha1.ClassSucceeded)
	install.Phase, install.Network = v1alpha1.VMProvisioning, v1alpha1.NetworkPackageProxy
	rebuild := Command("rebuild", v1alpha1.ClassSucceeded)
	b.e.Trees = append(b.e.Trees, v1alpha1.TreeStatus{
		Name: name, Commit: commit, Tree: Commit("e"), Files: 12,
		State:                 v1alpha1.TreeDestroyed,
		NetworkInVerification: ptr.To(false),
		Commands:              append([]v1alpha1.CommandStatus{install, rebuild}, commands...),
	})
	return b
}

// Audited is the record of a mirror's cache that was found clean after every tree.
func (b *ExecutionBuilder) Audited() *ExecutionBuilder {
	audit := &v1alpha1.CacheAudit{Checked: 93, Admitted: 93}
	for _, tree := range b.e.Trees {
		audit.Trees = append(audit.Trees, tree.Name)
	}
	b.e.CacheAudit = audit
	return b
}

// Proven has the evidence of a reproduced and fixed bug.
func (b *ExecutionBuilder) Proven() *ExecutionBuilder {
	return b.
		Tree(v1alpha1.TreeBase, BaseCommit, Command("suite", v1alpha1.ClassPassed)).
		Tree(v1alpha1.TreeRegressionTest, RegressionTestCommit, Command("regression", v1alpha1.ClassFailed)).
		Tree(v1alpha1.TreeCandidate, CandidateCommit,
			compared(Command("regression", v1alpha1.ClassPassed), "RegressionTest/regression"),
			compared(Command("suite", v1alpha1.ClassPassed), "Base/suite"),
			compared(Command("sentinel", v1alpha1.ClassFailed), "RegressionTest/regression")).
		Audited()
}

// Object returns the record.
func (b *ExecutionBuilder) Object() *v1alpha1.ExecutionStatus { return b.e.DeepCopy() }

// Command is a finished command of the verification phase, with the report that its
// class implies.
func Command(name string, class v1alpha1.Classification) v1alpha1.CommandStatus {
	c := v1alpha1.CommandStatus{
		Name: name, Argv: []string{"npm", name}, Phase: v1alpha1.VMVerification, Network: v1alpha1.NetworkNone,
		DurationMillis: 1200, Classification: class, ExitCode: ptr.To[int32](0),
	}
	switch name {
	case "suite":
	case "regression":
		c.Argv = append(c.Argv, "--", RegressionTarget)
	case "sentinel":
		c.Argv = append(c.Argv, "--", "test/t0123456789abcdef0123.test.js")
		c.Sentinel = &v1alpha1.SentinelStatus{Planted: 3, Reported: 3}
		c.ExitCode = ptr.To[int32](1)
		c.Report = &v1alpha1.ReportCounts{Suites: 1, Tests: 6, Failures: 3}
		return c
	default:
		return c
	}
	switch class {
	case v1alpha1.ClassPassed:
		c.Report = &v1alpha1.ReportCounts{Suites: 1, Tests: 3}
	case v1alpha1.ClassFailed:
		c.ExitCode = ptr.To[int32](1)
		c.Report = &v1alpha1.ReportCounts{Suites: 1, Tests: 3, Failures: 1}
	}
	return c
}

// compared has every one of the trusted tree's three tests pass.
func compared(c v1alpha1.CommandStatus, with string) v1alpha1.CommandStatus {
	c.Comparison = &v1alpha1.TestComparison{With: with, Expected: 3, Passed: 3}
	return c
}
