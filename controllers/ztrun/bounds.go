package ztrun

import (
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

const (
	// maxBundleBytes is what a ConfigMap can hold, by Kubernetes' own validation.
	maxBundleBytes = 1 << 20

	// networkProbeBound is how long a run waits for the proof that NetworkPolicies are
	// enforced: a probe takes some seconds, and the pull of a small image.
	networkProbeBound = 3 * time.Minute

	// proxyReadyBound is from the first object of the proxy to a mirror and a Squid
	// that are ready. It has to cover two image pulls on a node that saw neither.
	proxyReadyBound = 3 * time.Minute

	// takeUpBound is from a running vm pod to the node agent's first word.
	takeUpBound = 2 * time.Minute

	// cleanedBound is how long teardown waits for the node agent's own
	// confirmation once the kubelet has removed the vm pod, which alone ends QEMU.
	cleanedBound = 30 * time.Second

	// blockedAfter is when a teardown that still goes on is called blocked.
	blockedAfter = time.Minute

	// logBound is how long judging tries to read Squid's log.
	logBound = 30 * time.Second

	// maxAccessLogBytes bounds what is read of Squid's log.
	maxAccessLogBytes = 8 << 20

	// settle is the pause before another look at a world that is about to change.
	settle = time.Second
)

// Limits of a profile that carries none: the CRD's own defaults, for a profile
// that was deleted under a run.
const (
	defaultPlacementSeconds = 600
	defaultRunSeconds       = 7200
)

func placementBound(profile *v1alpha1.ZTProfile) time.Duration {
	if profile == nil || profile.Spec.Limits.PlacementSeconds == 0 {
		return defaultPlacementSeconds * time.Second
	}
	return time.Duration(profile.Spec.Limits.PlacementSeconds) * time.Second
}

// runBound is the profile's limit, narrowed by the run's own.
func runBound(profile *v1alpha1.ZTProfile, limits *v1alpha1.RunLimits) time.Duration {
	seconds := int32(defaultRunSeconds)
	if profile != nil && profile.Spec.Limits.RunSeconds > 0 {
		seconds = profile.Spec.Limits.RunSeconds
	}
	if limits != nil && limits.RunSeconds != nil {
		seconds = min(seconds, *limits.RunSeconds)
	}
	return time.Duration(seconds) * time.Second
}
