package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/cacheaudit"
	"github.com/ai-dossier/zt-operator/internal/verdict"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor/fake"
)

// parallelHost runs all trees at once. exec may answer for a command, or leave it to
// the good candidate.
func parallelHost(t *testing.T, exec func(v1alpha1.TreeName, brokerproto.Exec) *fake.Reply) *host {
	h := newHost(t)
	h.parallel = trees
	good := h.guest.Exec
	h.guest.Exec = func(c hypervisor.Config, command brokerproto.Exec) fake.Reply {
		if reply := exec(treeOf(c), command); reply != nil {
			return *reply
		}
		return good(c, command)
	}
	return h
}

func TestTreesAtOnceGiveTheSameVerdict(t *testing.T) {
	h := parallelHost(t, func(v1alpha1.TreeName, brokerproto.Exec) *fake.Reply { return nil })
	record, boots, err := h.execute(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if outcome, final := verdict.Judge(record, proof); outcome.Result != v1alpha1.ResultReproducedAndFixed || !final {
		t.Errorf("judged %+v, final %v", outcome, final)
	}
	if len(boots) != 2*trees || record.Activity != "" {
		t.Errorf("%d boots, then %q; want two for each tree, then nothing to do", len(boots), record.Activity)
	}
}

func TestOneVMStartsBeforeTheProxyIsReady(t *testing.T) {
	h := parallelHost(t, func(v1alpha1.TreeName, brokerproto.Exec) *fake.Reply { return nil })
	var ready atomic.Bool
	var early atomic.Int32
	started, once := make(chan struct{}), sync.Once{}
	h.guest.StartError = func(c hypervisor.Config) error {
		if !ready.Load() {
			early.Add(1)
			if tree := treeOf(c); tree != TreeOrder[0] {
				t.Errorf("the VM of %s starts before the proxy is ready", tree)
			}
		}
		once.Do(func() { close(started) })
		return nil
	}
	h.proxyReady = func(context.Context) error {
		<-started
		// Time for others to start that should not.
		time.Sleep(50 * time.Millisecond)
		ready.Store(true)
		return nil
	}
	if _, _, err := h.execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := early.Load(); n != 1 {
		t.Errorf("%d VMs started before the proxy was ready, want one", n)
	}
}

func TestTheCacheIsAuditedWhileNoTreeInstalls(t *testing.T) {
	var installing, audits atomic.Int32
	h := parallelHost(t, func(_ v1alpha1.TreeName, command brokerproto.Exec) *fake.Reply {
		if command.Network == brokerproto.NetworkPackageProxy {
			installing.Add(1)
			time.Sleep(20 * time.Millisecond)
			installing.Add(-1)
		}
		return nil
	})
	h.cache = &Cache{Ecosystem: v1alpha1.EcosystemNPM, List: func(context.Context) ([]cacheaudit.Artifact, error) {
		audits.Add(1)
		for range 20 {
			if n := installing.Load(); n != 0 {
				t.Errorf("the cache is audited while %d trees install", n)
			}
			time.Sleep(time.Millisecond)
		}
		return nil, nil
	}}
	if _, _, err := h.execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	if audits.Load() != trees {
		t.Errorf("%d audits, want one after each tree's installation", audits.Load())
	}
}

func TestTreesAtOnceDoNotWaitForEachOthersTests(t *testing.T) {
	candidateInstalls := make(chan struct{})
	h := parallelHost(t, func(tree v1alpha1.TreeName, command brokerproto.Exec) *fake.Reply {
		switch {
		case tree == v1alpha1.TreeCandidate && command.Network == brokerproto.NetworkPackageProxy:
			close(candidateInstalls)
		case tree == v1alpha1.TreeBase && command.Report:
			select {
			case <-candidateInstalls:
			case <-time.After(10 * time.Second):
				return &fake.Reply{Crash: true}
			}
		}
		return nil
	})
	if _, _, err := h.execute(t.Context()); err != nil {
		t.Error("the base's suite waited in vain for the candidate's installation:", err)
	}
}

func TestACandidateIsComparedWithResultsThatComeLater(t *testing.T) {
	candidateTested, tested := make(chan struct{}), sync.Once{}
	h := parallelHost(t, func(tree v1alpha1.TreeName, command brokerproto.Exec) *fake.Reply {
		isRegression := command.Report && slices.Contains(command.Argv, target)
		switch {
		case tree == v1alpha1.TreeCandidate && isRegression: // the sentinel's command too
			tested.Do(func() { close(candidateTested) })
		case tree == v1alpha1.TreeRegressionTest && isRegression:
			<-candidateTested
		}
		return nil
	})
	record, _, err := h.execute(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if outcome, _ := verdict.Judge(record, proof); outcome.Result != v1alpha1.ResultReproducedAndFixed {
		t.Errorf("judged %+v", outcome)
	}
}

func TestTheFirstTreeThatDecidesCancelsTheRest(t *testing.T) {
	for name, tc := range map[string]struct {
		base       fake.Reply
		wantResult v1alpha1.Result
		wantErr    bool
	}{
		"a base whose suite fails": {base: failed(), wantResult: v1alpha1.ResultInconclusive},
		"a base whose VM is lost":  {base: fake.Reply{Crash: true}, wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			regressionRuns := make(chan struct{})
			h := parallelHost(t, func(tree v1alpha1.TreeName, command brokerproto.Exec) *fake.Reply {
				switch {
				case tree == v1alpha1.TreeRegressionTest && command.Report:
					close(regressionRuns)
					return &fake.Reply{Hang: true}
				case tree == v1alpha1.TreeBase && command.Report:
					<-regressionRuns
					return &tc.base
				}
				return nil
			})
			record, boots, err := h.execute(t.Context())
			if (err != nil) != tc.wantErr || errors.Is(err, errDecided) {
				t.Fatalf("error %v, want one: %v", err, tc.wantErr)
			}
			if outcome, _ := verdict.Judge(record, proof); !tc.wantErr && outcome.Result != tc.wantResult {
				t.Errorf("judged %+v, want %s", outcome, tc.wantResult)
			}
			if got := record.Trees[1].State; got != v1alpha1.TreeCancelled {
				t.Errorf("the regression test's tree is %s, want %s", got, v1alpha1.TreeCancelled)
			}
			for _, boot := range boots {
				select {
				case <-boot.Process.Done():
				default:
					t.Error("a VM still runs")
				}
			}
		})
	}
}

func TestALateTreesFailureWaitsForTheTreesBefore(t *testing.T) {
	candidateLost := make(chan struct{})
	h := parallelHost(t, func(tree v1alpha1.TreeName, command brokerproto.Exec) *fake.Reply {
		switch {
		case tree == v1alpha1.TreeCandidate:
			close(candidateLost)
			return &fake.Reply{Crash: true}
		case tree == v1alpha1.TreeRegressionTest && command.Report:
			<-candidateLost
			reply := passed()
			return &reply
		}
		return nil
	})
	record, _, err := h.execute(t.Context())
	if err != nil {
		t.Fatalf("the candidate's VM was lost, but the regression test had decided: %v", err)
	}
	if outcome, _ := verdict.Judge(record, proof); outcome.Result != v1alpha1.ResultNotReproduced {
		t.Errorf("judged %+v, want %s", outcome, v1alpha1.ResultNotReproduced)
	}
}
