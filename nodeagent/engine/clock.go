package engine

import (
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

// Under TCG multi-second steps were measured 10–15 times slower than under KVM,
// so clocks of the KVM scale are multiplied by 16 there.
const tcgScale = 16

// Boot timeouts; measured boots take about 2 s under TCG on an idle machine.
const (
	bootTimeoutKVM = 3 * time.Minute
	bootTimeoutTCG = 20 * time.Minute
)

// Hello timeouts: how long one boot may be silent before it is repeated.
const (
	helloTimeoutKVM = 30 * time.Second
	helloTimeoutTCG = 3 * time.Minute
)

// powerOffTimeout is how long a guest may take to sync and power off, on the KVM
// clock, before QEMU is killed.
const powerOffTimeout = 10 * time.Second

// Clocks are an attempt's time limits under its accelerator.
type Clocks struct {
	// Hello bounds one boot, Boot all tries of it.
	Hello, Boot                     time.Duration
	Provisioning, Command, PowerOff time.Duration
}

// ClocksFor scales a profile's limits, narrowed by the run's, to an accelerator.
func ClocksFor(accelerator v1alpha1.Accelerator, profile v1alpha1.ProfileLimits, run *v1alpha1.RunLimits) Clocks {
	if run == nil {
		run = &v1alpha1.RunLimits{}
	}
	scale, hello, boot := time.Duration(1), helloTimeoutKVM, bootTimeoutKVM
	if accelerator == v1alpha1.AcceleratorTCG {
		scale, hello, boot = tcgScale, helloTimeoutTCG, bootTimeoutTCG
	}
	seconds := func(profile int32, run *int32) time.Duration {
		return min(time.Duration(narrower(profile, run))*time.Second*scale, brokerproto.MaxTimeout)
	}
	return Clocks{
		Hello:        hello,
		Boot:         boot,
		Provisioning: seconds(profile.ProvisioningSeconds, run.ProvisioningSeconds),
		Command:      seconds(profile.CommandSeconds, run.CommandSeconds),
		PowerOff:     powerOffTimeout * scale,
	}
}

// RunTimeout is the wall-clock limit of a whole run.
func RunTimeout(profile v1alpha1.ProfileLimits, run *v1alpha1.RunLimits) time.Duration {
	if run == nil {
		run = &v1alpha1.RunLimits{}
	}
	return time.Duration(narrower(profile.RunSeconds, run.RunSeconds)) * time.Second
}

func narrower(profile int32, run *int32) int32 {
	if run == nil {
		return profile
	}
	return min(profile, *run)
}
