package verdict

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// ways are all in which a command can end, beginning with how it should.
func ways(c v1alpha1.CommandStatus) []v1alpha1.CommandStatus {
	if c.Report == nil {
		return []v1alpha1.CommandStatus{c, failing(c)}
	}
	other := failing(c)
	if c.Classification == v1alpha1.ClassFailed {
		other = passing(c.Name, c.Report.Tests, c.Argv...)
	}
	return []v1alpha1.CommandStatus{c, other, inconclusive(c)}
}

// Of all combinations of how the eleven commands end, one is reproduced_and_fixed.
func TestOnlyOneCombinationIsReproducedAndFixed(t *testing.T) {
	total := 1
	for _, tr := range good().Trees {
		for _, c := range tr.Commands {
			total *= len(ways(c))
		}
	}
	fixed := 0
	for n := range total {
		e := good()
		rest := n
		for i := range e.Trees {
			for j := range e.Trees[i].Commands {
				c := &e.Trees[i].Commands[j]
				all := ways(*c)
				*c = all[rest%len(all)]
				rest /= len(all)
			}
		}
		if outcome, final := Judge(e, proof); outcome.Result == v1alpha1.ResultReproducedAndFixed {
			fixed++
			if n != 0 || !final {
				t.Fatalf("combination %d is reproduced_and_fixed", n)
			}
		} else if !final {
			t.Fatalf("combination %d of a finished execution is not final: %+v", n, outcome)
		}
	}
	if fixed != 1 {
		t.Errorf("%d combinations are reproduced_and_fixed, want 1", fixed)
	}
}

// Any one damage to the good record takes the verdict away.
func TestAnyDamageTakesTheVerdictAway(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	damages := []struct {
		name string
		do   func(*v1alpha1.ExecutionStatus, *v1alpha1.TreeStatus, *v1alpha1.CommandStatus)
	}{
		{"another name", func(_ *v1alpha1.ExecutionStatus, _ *v1alpha1.TreeStatus, c *v1alpha1.CommandStatus) { c.Name += "x" }},
		{"the other phase", func(_ *v1alpha1.ExecutionStatus, _ *v1alpha1.TreeStatus, c *v1alpha1.CommandStatus) {
			if c.Phase == v1alpha1.VMVerification {
				c.Phase = v1alpha1.VMProvisioning
			} else {
				c.Phase = v1alpha1.VMVerification
			}
		}},
		{"the other network", func(_ *v1alpha1.ExecutionStatus, _ *v1alpha1.TreeStatus, c *v1alpha1.CommandStatus) {
			if c.Network == v1alpha1.NetworkNone {
				c.Network = v1alpha1.NetworkPackageProxy
			} else {
				c.Network = v1alpha1.NetworkNone
			}
		}},
		{"no exit status", func(_ *v1alpha1.ExecutionStatus, _ *v1alpha1.TreeStatus, c *v1alpha1.CommandStatus) { c.ExitCode = nil }},
		{"the other exit status", func(_ *v1alpha1.ExecutionStatus, _ *v1alpha1.TreeStatus, c *v1alpha1.CommandStatus) { *c.ExitCode ^= 1 }},
		{"a signal", func(_ *v1alpha1.ExecutionStatus, _ *v1alpha1.TreeStatus, c *v1alpha1.CommandStatus) { c.Signal = 9 }},
		{"a timeout", func(_ *v1alpha1.ExecutionStatus, _ *v1alpha1.TreeStatus, c *v1alpha1.CommandStatus) {
			c.TimedOut = true
		}},
		{"another class", func(_ *v1alpha1.ExecutionStatus, _ *v1alpha1.TreeStatus, c *v1alpha1.CommandStatus) {
			c.Classification = "great"
		}},
		{"no tree id", func(_ *v1alpha1.ExecutionStatus, t *v1alpha1.TreeStatus, _ *v1alpha1.CommandStatus) { t.Tree = "" }},
		{"no commit", func(_ *v1alpha1.ExecutionStatus, t *v1alpha1.TreeStatus, _ *v1alpha1.CommandStatus) { t.Commit = "" }},
		{"another tree name", func(_ *v1alpha1.ExecutionStatus, t *v1alpha1.TreeStatus, _ *v1alpha1.CommandStatus) { t.Name = "Other" }},
		{"a network", func(_ *v1alpha1.ExecutionStatus, t *v1alpha1.TreeStatus, _ *v1alpha1.CommandStatus) {
			*t.NetworkInVerification = true
		}},
		{"an unknown network", func(_ *v1alpha1.ExecutionStatus, t *v1alpha1.TreeStatus, _ *v1alpha1.CommandStatus) {
			t.NetworkInVerification = nil
		}},
		{"no commands", func(_ *v1alpha1.ExecutionStatus, t *v1alpha1.TreeStatus, _ *v1alpha1.CommandStatus) { t.Commands = nil }},
		{"a failure", func(e *v1alpha1.ExecutionStatus, _ *v1alpha1.TreeStatus, _ *v1alpha1.CommandStatus) {
			e.Failure = &v1alpha1.Outcome{}
		}},
		{"no source", func(e *v1alpha1.ExecutionStatus, _ *v1alpha1.TreeStatus, _ *v1alpha1.CommandStatus) { e.Source = nil }},
	}
	for _, d := range damages {
		for range 30 {
			e := good()
			tr := &e.Trees[random.IntN(len(e.Trees))]
			c := &tr.Commands[random.IntN(len(tr.Commands))]
			where := fmt.Sprintf("%s in %s/%s", d.name, tr.Name, c.Name)
			d.do(e, tr, c)
			if outcome, _ := Judge(e, proof); outcome.Result == v1alpha1.ResultReproducedAndFixed {
				t.Errorf("%s is still reproduced_and_fixed", where)
			}
		}
	}
}
