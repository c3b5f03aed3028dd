package ztrun

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/policy"
)

// proxy starts the attempt's package mirror and Squid once the node agent has read
// the source and waits for them: a refused source never gets this far.
func (r *Reconciler) proxy(ctx context.Context, s *scope) (ctrl.Result, error) {
	if !s.needsProxy() {
		return ctrl.Result{}, nil
	}
	mirror, err := s.mirrorOf()
	if err != nil {
		return ctrl.Result{}, err
	}
	started, err := r.startProxy(ctx, s, mirror)
	if err != nil {
		return ctrl.Result{}, proxyRejected(s, err)
	}
	if err := awaitProxy(s, started); err != nil {
		return ctrl.Result{}, err
	}
	s.timings().ProxyReady = s.moment()
	return ctrl.Result{}, nil
}

// needsProxy: the source was read, and the proxy is not ready yet. The node agent
// boots the first VM as soon as it knows the mirror's address, beside the proxy.
func (s *scope) needsProxy() bool {
	switch s.executionState() {
	case v1alpha1.ExecutionWaitingForProxy, v1alpha1.ExecutionRunning:
		return !s.proxyReady()
	}
	return false
}

// mirrorOf is the profile's mirror for the ecosystem that was detected.
func (s *scope) mirrorOf() (v1alpha1.Mirror, error) {
	if s.profile == nil {
		return v1alpha1.Mirror{}, refuse(v1alpha1.ResultNotAdmitted, v1alpha1.DetailUnknownProfile, s.run.Spec.ProfileRef.Name,
			"ZTProfile %q was deleted while the run needed its proxy images", s.run.Spec.ProfileRef.Name)
	}
	if s.policy == nil {
		return v1alpha1.Mirror{}, refuse(v1alpha1.ResultNotAdmitted, v1alpha1.DetailUnknownPolicy, s.policyName(),
			"ProxyPolicy %q was deleted while the run needed it", s.policyName())
	}
	var ecosystem v1alpha1.Ecosystem
	if source := s.execution().Source; source != nil {
		ecosystem = source.Ecosystem
	}
	i := slices.IndexFunc(s.profile.Spec.Proxy.Mirrors, func(m v1alpha1.Mirror) bool { return m.Ecosystem == ecosystem })
	if i < 0 {
		return v1alpha1.Mirror{}, refuse(v1alpha1.ResultUnsupportedEnvironment, v1alpha1.DetailEcosystemNotOffered, string(ecosystem),
			"profile %q has no package mirror for %q; add one to proxy.mirrors", s.profile.Name, ecosystem)
	}
	return s.profile.Spec.Proxy.Mirrors[i], nil
}

// startProxy creates what is not there yet, in the only order that works: policies
// before anything they confine, Squid's Service before the mirror that is told its
// address, the mirror's address before the Squid that admits only it. It returns
// when the first of these objects was made.
func (r *Reconciler) startProxy(ctx context.Context, s *scope, mirror v1alpha1.Mirror) (started time.Time, err error) {
	ca, err := r.ensureCA(ctx, s)
	if err != nil {
		return s.now, err
	}
	// Zero only until the API server has answered with the object's creation time.
	if started = ca.CreationTimestamp.Time; started.IsZero() {
		started = s.now
	}
	for _, np := range r.proxyNetworkPolicies(s) {
		if _, err := ensure(ctx, r, v1alpha1.ConditionProxyReady, np); err != nil {
			return started, err
		}
	}
	service, err := ensure(ctx, r, v1alpha1.ConditionProxyReady, r.squidService(s))
	if err != nil {
		return started, err
	}
	if _, err := ensure(ctx, r, v1alpha1.ConditionProxyReady, r.mirrorConfig(s, mirror, ca, service)); err != nil {
		return started, err
	}
	if s.mirror, err = ensure(ctx, r, v1alpha1.ConditionProxyReady, r.mirrorPod(s, mirror, service)); err != nil {
		return started, err
	}
	if ipv4(s.mirror) == "" {
		return started, nil
	}
	return started, r.startSquid(ctx, s, mirror.Ecosystem)
}

func (r *Reconciler) startSquid(ctx context.Context, s *scope, ecosystem v1alpha1.Ecosystem) error {
	config, err := r.ensureSquidConfig(ctx, s, ecosystem)
	if err != nil {
		return err
	}
	s.run.Status.Proxy = &v1alpha1.ProxyStatus{
		MirrorAddress: net.JoinHostPort(ipv4(s.mirror), strconv.Itoa(policy.VerdaccioPort)),
		PolicyDigest:  config.Annotations[policyDigestAnnotation],
		ConfigDigest:  policy.TextDigest(string(config.Data[squidConfigKey])),
	}
	s.squid, err = ensure(ctx, r, v1alpha1.ConditionProxyReady, r.squidPod(s))
	return err
}

// awaitProxy waits for a ready mirror and a ready Squid, in bounded time.
func awaitProxy(s *scope, started time.Time) error {
	problem := ""
	for _, part := range []struct {
		name string
		pod  *corev1.Pod
	}{{"mirror", s.mirror}, {"squid", s.squid}} {
		switch {
		case part.pod == nil:
			problem = part.name + " waits for the mirror's address"
		case ended(part.pod) || !part.pod.DeletionTimestamp.IsZero():
			return endedEarly(part.name, part.pod)
		case !ready(part.pod):
			problem = fmt.Sprintf("%s: %s", part.name, podProblem(part.pod))
		}
		if problem != "" {
			break
		}
	}
	if problem == "" {
		return nil
	}
	left := started.Add(proxyReadyBound).Sub(s.now)
	if left <= 0 {
		return proxyFailed("mirror and Squid were not ready within %s: %s", proxyReadyBound, problem)
	}
	return hold(v1alpha1.ConditionProxyReady, v1alpha1.DetailProxyStarting, min(left, s.timeLeft()), "%s", problem)
}

// endedEarly names what a pod was short of before it was ready, if anything.
func endedEarly(name string, pod *corev1.Pod) error {
	detail, _ := shortage(pod)
	if detail == v1alpha1.DetailProxyEnded {
		detail = v1alpha1.DetailProxyNotReady
	}
	return refuse(v1alpha1.ResultOf(detail), detail, name, "the %s pod ended before it was ready: %s", name, podProblem(pod))
}

func proxyFailed(format string, args ...any) error {
	return refuse(v1alpha1.ResultProvisioningFailed, v1alpha1.DetailProxyNotReady, "", format, args...)
}

// proxyRejected shows why the API server refused an object of the proxy, and tries
// again until the proxy's bound.
func proxyRejected(s *scope, err error) error {
	var no *rejected
	if !errors.As(err, &no) {
		return err
	}
	left := s.falseSince(v1alpha1.ConditionProxyReady).Add(proxyReadyBound).Sub(s.now)
	if left <= 0 {
		return proxyFailed("%s", no.Error())
	}
	return hold(v1alpha1.ConditionProxyReady, v1alpha1.DetailProxyStarting, min(left, 15*time.Second), "%s", no.Error())
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// ipv4 is the pod's IPv4 address, or empty. The connector and Squid's source rule
// are IPv4 only.
func ipv4(pod *corev1.Pod) string {
	if pod == nil {
		return ""
	}
	candidates := []string{pod.Status.PodIP}
	for _, ip := range pod.Status.PodIPs {
		candidates = append(candidates, ip.IP)
	}
	for _, text := range candidates {
		if addr, err := netip.ParseAddr(text); err == nil && addr.Is4() {
			return addr.String()
		}
	}
	return ""
}
