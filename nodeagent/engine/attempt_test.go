package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/verdict"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor/fake"
)

func TestExecuteTakesEachTreeThroughBothPhasesOfItsOwnVM(t *testing.T) {
	h := newHost(t)
	record, boots, err := h.execute(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(boots), 6; got != want {
		t.Fatalf("%d boots, want %d: two phases for each of three trees", got, want)
	}
	for i, boot := range boots {
		tree, phase := TreeOrder[i/2], brokerproto.PhaseProvisioning
		if i%2 == 1 {
			phase = brokerproto.PhaseVerification
		}
		if treeOf(boot.Config) != tree || boot.Config.Phase != phase {
			t.Errorf("boot %d is %s in %s, want %s in %s", i, treeOf(boot.Config), boot.Config.Phase, tree, phase)
		}
		if hasForward := boot.Config.ForwardPort != 0; hasForward != (phase == brokerproto.PhaseProvisioning) {
			t.Errorf("boot %d in %s: forward %v", i, phase, hasForward)
		}
		if i%2 == 1 && boot.Config.Disk != boots[i-1].Config.Disk {
			t.Errorf("boot %d is on another disk than its provisioning", i)
		}
	}
	outcome, final := verdict.Judge(record, proof)
	if outcome.Result != v1alpha1.ResultReproducedAndFixed || !final {
		t.Errorf("judged %+v, final %v", outcome, final)
	}
}

func TestExecuteGivesEveryBootSecretsOfItsOwn(t *testing.T) {
	_, boots, err := newHost(t).execute(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i, boot := range boots {
		welcome := boot.Welcome()
		for _, secret := range []string{boot.Config.Nonce, string(welcome.Seed), string(welcome.RelayKey)} {
			if secret != "" && seen[secret] {
				t.Errorf("boot %d reuses a secret", i)
			}
			seen[secret] = true
		}
		if inVerification := boot.Config.Phase == brokerproto.PhaseVerification; inVerification && welcome.RelayKey != nil {
			t.Errorf("boot %d has a relay key in verification", i)
		}
	}
}

func TestExecuteStopsWhenTheAnswerIsFinal(t *testing.T) {
	for name, tc := range map[string]struct {
		exec  script
		trees int
		want  v1alpha1.Result
	}{
		"a failing base suite needs no other tree": {
			exec: func(_ hypervisor.Config, e brokerproto.Exec) fake.Reply {
				if e.Report {
					return failed()
				}
				return fake.Reply{}
			},
			trees: 1, want: v1alpha1.ResultInconclusive,
		},
		"a regression test that passes without the fix needs no candidate": {
			exec: func(_ hypervisor.Config, e brokerproto.Exec) fake.Reply {
				if e.Report {
					return passed()
				}
				return fake.Reply{}
			},
			trees: 2, want: v1alpha1.ResultNotReproduced,
		},
		"a failed install needs no verification": {
			exec: func(_ hypervisor.Config, e brokerproto.Exec) fake.Reply {
				return fake.Reply{Result: brokerproto.ExecResult{ExitCode: 1, Stderr: []byte("EINTEGRITY")}}
			},
			trees: 1, want: v1alpha1.ResultProvisioningFailed,
		},
		"a candidate that breaks the suite regressed": {
			exec: func(c hypervisor.Config, e brokerproto.Exec) fake.Reply {
				if treeOf(c) == v1alpha1.TreeCandidate && e.Report && !slices.Contains(e.Argv, target) {
					return failed()
				}
				return goodCandidate(&fake.Workspace{})(c, e)
			},
			trees: 3, want: v1alpha1.ResultRegressed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for parallel := range int32(trees) {
				h := newHost(t)
				h.parallel = parallel + 1
				h.guest.Exec = tc.exec
				record, _, err := h.execute(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if h.parallel == 1 && len(record.Trees) != tc.trees {
					t.Errorf("%d trees, want %d", len(record.Trees), tc.trees)
				}
				if outcome, final := verdict.Judge(record, proof); outcome.Result != tc.want || !final {
					t.Errorf("%d at once: judged %+v (final %v), want %s", h.parallel, outcome, final, tc.want)
				}
			}
		})
	}
}

func TestExecuteNamesWhatFailed(t *testing.T) {
	crash := func(_ hypervisor.Config, e brokerproto.Exec) fake.Reply { return fake.Reply{Crash: true} }
	for name, tc := range map[string]struct {
		prepare func(*host)
		want    v1alpha1.Detail
	}{
		"QEMU does not start": {
			func(h *host) {
				h.guest.StartError = func(hypervisor.Config) error { return errors.New("no such machine") }
			}, v1alpha1.DetailVMBootFailed,
		},
		"the guest never says hello": {
			func(h *host) {
				h.clocks.Hello = 100 * time.Millisecond
				h.guest.Silent = func(hypervisor.Config) bool { return true }
			}, v1alpha1.DetailVMBootFailed,
		},
		"the guest believes it is in another phase": {
			func(h *host) {
				h.guest.Hello = func(_ hypervisor.Config, hello *brokerproto.Hello) { hello.Phase = brokerproto.PhaseVerification }
			}, v1alpha1.DetailBrokerTainted,
		},
		"the VM goes away during a command": {
			func(h *host) { h.guest.Exec = crash }, v1alpha1.DetailVMLost,
		},
		"the guest breaks the protocol": {
			func(h *host) {
				h.guest.Exec = func(hypervisor.Config, brokerproto.Exec) fake.Reply { return fake.Reply{Taint: true} }
			}, v1alpha1.DetailBrokerTainted,
		},
		"the guest does not come back from the phase switch": {
			func(h *host) {
				h.clocks.Hello = 200 * time.Millisecond
				h.guest.Silent = func(c hypervisor.Config) bool { return c.Phase == brokerproto.PhaseVerification }
			}, v1alpha1.DetailVMPhaseChangeFailed,
		},
		"the guest does not power off": {
			func(h *host) {
				h.clocks.PowerOff = 50 * time.Millisecond
				h.guest.Shutdown = func(hypervisor.Config) fake.Reply { return fake.Reply{Hang: true} }
			}, v1alpha1.DetailVMPhaseChangeFailed,
		},
		"QEMU crashes while the guest powers off": {
			func(h *host) {
				h.guest.Shutdown = func(hypervisor.Config) fake.Reply { return fake.Reply{Crash: true} }
			},
			v1alpha1.DetailVMPhaseChangeFailed,
		},
		"the guest says hello in provisioning but does not become ready": {
			func(h *host) { h.guest.Exec = notReady(brokerproto.PhaseProvisioning) }, v1alpha1.DetailVMBootFailed,
		},
		"the guest says hello in verification but does not become ready": {
			func(h *host) { h.guest.Exec = notReady(brokerproto.PhaseVerification) }, v1alpha1.DetailVMPhaseChangeFailed,
		},
		"QEMU has a network device in verification": {
			func(h *host) { h.guest.Network = func(hypervisor.Config) bool { return true } }, v1alpha1.DetailNetworkPresent,
		},
		"the run disk cannot be made": {
			func(h *host) { h.diskErr = errors.New("no space left") }, v1alpha1.DetailNodeError,
		},
		"the proxy does not come up": {
			func(h *host) {
				h.proxyReady = func(context.Context) error { return errors.New("squid is not ready") }
			}, v1alpha1.DetailProxyNotReady,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			tc.prepare(h)
			_, boots, err := h.execute(t.Context())
			if err == nil {
				t.Fatal("no error")
			}
			if got := OutcomeOf(t.Context(), err).Detail; got != tc.want {
				t.Errorf("detail %s, want %s (%v)", got, tc.want, err)
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

// notReady answers every command of a phase as a guest does whose disks do not mount.
func notReady(phase brokerproto.Phase) func(hypervisor.Config, brokerproto.Exec) fake.Reply {
	return func(c hypervisor.Config, _ brokerproto.Exec) fake.Reply {
		if c.Phase != phase {
			return fake.Reply{}
		}
		return fake.Reply{Error: brokerproto.ErrorBootPrefix + "disks"}
	}
}

func TestALostVMSaysHowItEnded(t *testing.T) {
	h := newHost(t)
	h.guest.Exec = func(hypervisor.Config, brokerproto.Exec) fake.Reply { return fake.Reply{Crash: true} }
	_, _, err := h.execute(t.Context())
	if err == nil || !strings.Contains(err.Error(), "fake vm crashed") {
		t.Errorf("got %v, want how the process ended in it", err)
	}
}

func TestExecuteEndsWithItsContext(t *testing.T) {
	for name, tc := range map[string]struct {
		cause error
		want  v1alpha1.Detail
	}{
		"the agent stops":      {ErrInterrupted, v1alpha1.DetailExecutionInterrupted},
		"the run's time is up": {ErrRunTimedOut, v1alpha1.DetailRunTimedOut},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			h.guest.Exec = func(hypervisor.Config, brokerproto.Exec) fake.Reply {
				cancel(tc.cause)
				return fake.Reply{Hang: true}
			}
			_, _, err := h.execute(ctx)
			if err == nil {
				t.Fatal("no error")
			}
			if got := OutcomeOf(ctx, err).Detail; got != tc.want {
				t.Errorf("detail %s, want %s (%v)", got, tc.want, err)
			}
		})
	}
}

func TestOutcomeOfAnAbandonedAttemptIsAnInterruption(t *testing.T) {
	err := fmt.Errorf("the node agent was restarted: %w", ErrInterrupted)
	if got := OutcomeOf(t.Context(), err).Detail; got != v1alpha1.DetailExecutionInterrupted {
		t.Errorf("detail %s: only an interruption is tried again", got)
	}
}

func TestExecuteRepeatsASilentBoot(t *testing.T) {
	h := newHost(t)
	h.clocks.Hello = 300 * time.Millisecond
	silent := map[brokerproto.Phase]bool{brokerproto.PhaseProvisioning: true, brokerproto.PhaseVerification: true}
	h.guest.Silent = func(c hypervisor.Config) bool {
		once := silent[c.Phase] && treeOf(c) == v1alpha1.TreeBase
		if once {
			silent[c.Phase] = false
		}
		return once
	}
	record, boots, err := h.execute(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if outcome, _ := verdict.Judge(record, proof); outcome.Result != v1alpha1.ResultReproducedAndFixed {
		t.Errorf("judged %+v", outcome)
	}
	if got := record.Trees[0].BootRetries; got != 2 || len(boots) != 8 {
		t.Errorf("%d retries and %d boots, want 2 and 8", got, len(boots))
	}
	if *record.Trees[0].NetworkInVerification {
		t.Error("the repeated boot of verification has a network")
	}
}
