package verdict

import (
	"fmt"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// Judge says what an execution proves so far. final is false while more evidence
// can still change the outcome; outcome is then what would be said if none came.
//
// It reads the record in the order of execution and stops at the first thing that
// decides. Only if nothing does, and nothing is missing, is the run
// reproduced_and_fixed.
func Judge(execution *v1alpha1.ExecutionStatus, proof v1alpha1.Proof) (outcome v1alpha1.Outcome, final bool) {
	if execution == nil {
		return incomplete("", "nothing was executed yet"), false
	}
	if execution.Failure != nil {
		return failure(*execution.Failure), true
	}
	j := &judgement{execution: execution, proof: proof, counts: map[string]v1alpha1.ReportCounts{}}
	j.judge()
	if j.outcome == nil {
		return v1alpha1.Outcome{
			Result: v1alpha1.ResultReproducedAndFixed, Detail: v1alpha1.DetailReproducedAndFixed,
			Message: "the regression test failed without the fix and passed with it; the whole suite passed before and after",
		}, true
	}
	return *j.outcome, !j.pending
}

// failure is the agent's account of an attempt that ended early. A verdict is not
// the agent's to give.
func failure(f v1alpha1.Outcome) v1alpha1.Outcome {
	switch f.Result {
	case v1alpha1.ResultUnsupportedEnvironment, v1alpha1.ResultInvalidSource, v1alpha1.ResultNotAdmitted,
		v1alpha1.ResultProvisioningFailed, v1alpha1.ResultExecutionFailed, v1alpha1.ResultInconclusive:
		return f
	}
	return incomplete("failure", "the node agent reported a verdict as its failure")
}

// judgement is the state of one reading. outcome is set by the first thing that
// decides; pending says that it is only not there yet.
type judgement struct {
	execution *v1alpha1.ExecutionStatus
	proof     v1alpha1.Proof
	// counts of the test commands read so far, by subject.
	counts  map[string]v1alpha1.ReportCounts
	outcome *v1alpha1.Outcome
	pending bool
}

func (j *judgement) decide(o v1alpha1.Outcome) bool {
	j.outcome = &o
	return false
}

// missing decides for want of a piece that may still come while the execution runs.
func (j *judgement) missing(subject, message string) bool {
	j.pending = j.execution.State != v1alpha1.ExecutionFinished
	return j.decide(incomplete(subject, message))
}

func (j *judgement) judge() bool {
	e := j.execution
	if e.Source == nil {
		return j.missing("source", "there is no record of the source")
	}
	if len(setup[e.Source.Ecosystem]) == 0 {
		return j.decide(incomplete("ecosystem", "no verdict is defined for the recorded ecosystem"))
	}
	if len(j.proof.Targets) == 0 {
		return j.decide(incomplete("targets", "the proof names no regression test"))
	}
	if len(e.Trees) > len(order) {
		return j.decide(incomplete("trees", "more trees were executed than the proof has"))
	}
	for i, name := range order {
		if i >= len(e.Trees) {
			return j.missing(string(name), fmt.Sprintf("tree %s was not executed", name))
		}
		if !j.tree(name, &e.Trees[i]) {
			return false
		}
	}
	return true
}

// tree reads one tree and is false once something decided.
func (j *judgement) tree(name v1alpha1.TreeName, tree *v1alpha1.TreeStatus) bool {
	if tree.Name != name {
		return j.decide(incomplete(string(name), "the trees were not executed in the order of the proof"))
	}
	if tree.Commit != commitOf(j.proof, name) {
		return j.decide(incomplete(string(name), "the tree was executed from another commit than the proof names"))
	}
	if tree.Tree == "" {
		return j.missing(string(name), "the id of the tree on the VM's disk was not recorded")
	}
	if tree.NetworkInVerification != nil && *tree.NetworkInVerification {
		return j.decide(networkPresent(string(name)))
	}
	expected := steps(j.execution.Source.Ecosystem, name)
	if len(tree.Commands) > len(expected) {
		return j.decide(incomplete(string(name), "more commands ran than the plan has"))
	}
	for i, s := range expected {
		subject := string(name) + "/" + s.name
		if i >= len(tree.Commands) {
			return j.missing(subject, fmt.Sprintf("command %s of tree %s did not run", s.name, name))
		}
		if !j.command(name, tree, s, &tree.Commands[i], subject) {
			return false
		}
	}
	return true
}

// command reads one command of a tree and is false once something decided.
func (j *judgement) command(name v1alpha1.TreeName, tree *v1alpha1.TreeStatus, s step, c *v1alpha1.CommandStatus, subject string) bool {
	if c.Name != s.name || c.Phase != s.phase {
		return j.decide(incomplete(subject, "the commands did not run in the order of the plan"))
	}
	if s.phase == v1alpha1.VMVerification && c.Network != v1alpha1.NetworkNone {
		return j.decide(networkPresent(subject))
	}
	if s.phase == v1alpha1.VMVerification && tree.NetworkInVerification == nil {
		return j.decide(incomplete(string(name), "it was not recorded whether the VM had a network in verification"))
	}
	if c.Network != s.network {
		return j.decide(incomplete(subject, "the command had another network than its plan says"))
	}
	if s.name == regression && !endsWith(c.Argv, j.proof.Targets) {
		return j.decide(incomplete(subject, "the command did not run the proof's targets"))
	}
	class, problem := reclassify(s, c)
	if problem != "" {
		return j.decide(incomplete(subject, problem))
	}
	if o := meaning(name, s, c, class, subject); o != nil {
		return j.decide(*o)
	}
	if !s.test {
		return true
	}
	if name != v1alpha1.TreeCandidate {
		j.counts[subject] = *c.Report
		return true
	}
	if s.name == sentinel {
		return j.planted(c, subject) && j.compared(s, c, subject)
	}
	return j.compared(s, c, subject) && j.sameTests(s, c, subject)
}

// sameTests holds the candidate to as many executed tests as the trees it is
// compared with: a test that was skipped or removed has not passed.
func (j *judgement) sameTests(s step, c *v1alpha1.CommandStatus, subject string) bool {
	before, now := executed(j.counts[trusted[s.name]]), executed(*c.Report)
	if now >= before {
		return true
	}
	return j.decide(v1alpha1.Outcome{
		Result: v1alpha1.ResultInconclusive, Detail: v1alpha1.DetailFewerTests, Subject: subject,
		Message: fmt.Sprintf("the candidate executed %d tests where %d were executed without it; a test that is skipped or removed has not passed", now, before),
	})
}

func endsWith(argv []string, targets []v1alpha1.TargetPath) bool {
	if len(argv) < len(targets) {
		return false
	}
	for i, target := range targets {
		if argv[len(argv)-len(targets)+i] != string(target) {
			return false
		}
	}
	return true
}
