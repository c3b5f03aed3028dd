package ztrun

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// lastTree is the tree after which no other is executed.
const lastTree = v1alpha1.TreeCandidate

// allSatisfy reports whether every tree that the execution will ever have passes a
// check: a verdict may need fewer than three, and nothing of a cancelled one.
func allSatisfy(e *v1alpha1.ExecutionStatus, check func(v1alpha1.TreeStatus) bool) bool {
	if e == nil || len(e.Trees) == 0 {
		return false
	}
	for _, tree := range e.Trees {
		if tree.State != v1alpha1.TreeCancelled && !check(tree) {
			return false
		}
	}
	return e.State == v1alpha1.ExecutionFinished || e.Trees[len(e.Trees)-1].Name == lastTree
}

func count(e *v1alpha1.ExecutionStatus, check func(v1alpha1.TreeStatus) bool) (n int) {
	for _, tree := range e.Trees {
		if check(tree) {
			n++
		}
	}
	return n
}

// installed reports whether a tree ran its provisioning commands and all succeeded.
func installed(tree v1alpha1.TreeStatus) bool {
	ran := false
	for _, c := range tree.Commands {
		if c.Phase != v1alpha1.VMProvisioning {
			continue
		}
		if c.Classification != v1alpha1.ClassSucceeded {
			return false
		}
		ran = true
	}
	return ran && tree.State != v1alpha1.TreeProvisioning && tree.State != v1alpha1.TreeBooting
}

// verifying reports whether a tree's VM came as far as its verification.
func verifying(tree v1alpha1.TreeStatus) bool {
	return tree.State == v1alpha1.TreeVerifying || ranToItsEnd(tree)
}

// ranToItsEnd reports whether a tree's VM was destroyed after its verification, and not
// because there was nothing to verify.
func ranToItsEnd(tree v1alpha1.TreeStatus) bool {
	return tree.State == v1alpha1.TreeDestroyed && tree.NetworkInVerification != nil
}

func withoutNetwork(tree v1alpha1.TreeStatus) bool {
	return tree.NetworkInVerification != nil && !*tree.NetworkInVerification
}

func provisioned(s *scope) finding {
	e := s.execution()
	switch {
	case e == nil || len(e.Trees) == 0:
		return notReached()
	case allSatisfy(e, installed):
		return reached(v1alpha1.DetailProvisioned, "trees that installed their dependencies: %d", count(e, installed))
	}
	return standing(metav1.ConditionFalse, v1alpha1.DetailProvisioning, "trees that installed their dependencies: %d", count(e, installed))
}

func isolated(s *scope) finding {
	e := s.execution()
	switch {
	case e == nil || len(e.Trees) == 0:
		return notReached()
	case slices.ContainsFunc(e.Trees, func(t v1alpha1.TreeStatus) bool {
		return t.NetworkInVerification != nil && *t.NetworkInVerification
	}):
		return standing(metav1.ConditionFalse, v1alpha1.DetailNetworkPresent, "a VM had a network device while repository code ran")
	case allSatisfy(e, withoutNetwork):
		return reached(v1alpha1.DetailNoNetwork, "VMs that had no network device while repository code ran: %d of %[1]d", count(e, withoutNetwork))
	}
	return standing(metav1.ConditionUnknown, v1alpha1.DetailNotReached,
		"VMs that had no network device while repository code ran: %d so far", count(e, withoutNetwork))
}

func verified(s *scope) finding {
	e := s.execution()
	if o := s.run.Status.Outcome; o != nil && isVerdict(o.Result) && e != nil {
		return reached(v1alpha1.DetailVerified, "every test command was classified without doubt; trees: %d", count(e, ranToItsEnd))
	}
	if e == nil || !slices.ContainsFunc(e.Trees, verifying) {
		return notReached()
	}
	return standing(metav1.ConditionFalse, v1alpha1.DetailVerifying, "trees that ran their commands: %d", count(e, ranToItsEnd))
}

// runPhase is the run's state in one word.
func runPhase(s *scope) v1alpha1.RunPhase {
	switch {
	case s.completed():
		return v1alpha1.PhaseComplete
	case s.paused() && !s.deleting():
		return v1alpha1.PhasePaused
	case s.ended() || s.deleting() || s.ending() != nil:
		return v1alpha1.PhaseTearingDown
	case s.run.Spec.Suspend && !s.placed():
		return v1alpha1.PhaseSuspended
	case !admitted(s).reached:
		return v1alpha1.PhasePending
	case !scheduled(s).reached:
		return v1alpha1.PhasePlacing
	case !sourceRead(s).reached:
		return v1alpha1.PhaseReadingSource
	case !proxyReady(s).reached:
		return v1alpha1.PhaseStartingProxy
	case s.executionState() == v1alpha1.ExecutionFinished:
		return v1alpha1.PhaseJudging
	}
	return v1alpha1.PhaseRunning
}
