package preflight

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/nodeagent/engine"
	"github.com/ai-dossier/zt-operator/nodeagent/image"
)

// smokeTimeout bounds the boot that proves KVM. A working one takes about a
// second; a host whose /dev/kvm opens but cannot run a stock kernel hangs.
const smokeTimeout = 10 * time.Second

// SmokeBoot boots the manifest's guest under KVM and returns at its hello.
type SmokeBoot func(ctx context.Context, manifest *image.Manifest) error

// Accelerators selects the accelerator of a profile's VMs. That /dev/kvm opens
// proves little, so KVM counts only once the guest was seen to boot under it.
type Accelerators struct {
	// Device is the path of the node's KVM device.
	Device string
	// Smoke proves that VMs run under it; ctx gives it smokeTimeout.
	Smoke SmokeBoot
	// Log is told why KVM is not used where the policy leaves the choice.
	Log logr.Logger

	mu     sync.Mutex
	proven map[string]error
}

// Select returns the accelerator for a policy. KVM is never downgraded: where it
// does not work, policy KVM is refused with kvm_unavailable, an *engine.Failure. The
// first call for a manifest may take smokeTimeout; its answer holds for this process.
func (a *Accelerators) Select(ctx context.Context, policy v1alpha1.AcceleratorPolicy, manifest *image.Manifest) (v1alpha1.Accelerator, error) {
	if policy == v1alpha1.AcceleratorPolicyTCG {
		return v1alpha1.AcceleratorTCG, nil
	}
	err := a.proveKVM(ctx, manifest)
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("proving KVM: %w", ctx.Err())
	case err == nil:
		return v1alpha1.AcceleratorKVM, nil
	case policy == v1alpha1.AcceleratorPolicyAuto:
		a.Log.Info("KVM is not usable, VMs run under TCG", "reason", err.Error())
		return v1alpha1.AcceleratorTCG, nil
	}
	return "", &engine.Failure{Detail: v1alpha1.DetailKVMUnavailable, Err: err}
}

// proveKVM smoke-boots each manifest once in this agent's life.
func (a *Accelerators) proveKVM(ctx context.Context, manifest *image.Manifest) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err, known := a.proven[manifest.Digest]; known {
		return err
	}
	err := a.tryKVM(ctx, manifest)
	if ctx.Err() != nil {
		return err
	}
	if a.proven == nil {
		a.proven = map[string]error{}
	}
	a.proven[manifest.Digest] = err
	return err
}

func (a *Accelerators) tryKVM(ctx context.Context, manifest *image.Manifest) error {
	device, err := os.OpenFile(a.Device, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("opening the KVM device: %w", err)
	}
	device.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, smokeTimeout, errors.New("no hello within "+smokeTimeout.String()))
	defer cancel()
	if err := a.Smoke(ctx, manifest); err != nil {
		return fmt.Errorf("booting the guest under KVM: %w", err)
	}
	return nil
}
