package ztrun

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// podNewsBound is how long judging waits for the kubelet's word on the proxy's pods
// after an installation failed: the node agent sees a broken connection first.
const podNewsBound = 5 * time.Second

// proxyLost: a mirror or Squid that was ready ended, and the evidence of what went
// through it with it.
func proxyLost(s *scope) error {
	if !s.proxyReady() {
		return nil
	}
	// Squid first: a mirror without Squid may end of that.
	for _, part := range []struct {
		role string
		pod  *corev1.Pod
	}{{v1alpha1.RoleSquid, s.squid}, {v1alpha1.RoleMirror, s.mirror}} {
		if err := proxyEnd(part.role, part.pod); err != nil {
			return err
		}
	}
	return nil
}

// proxyEnd is what follows from the end of a pod of the proxy; nil while it runs. What
// the pod's own limits ended would end again: the run does. Anything else is worth
// another attempt.
func proxyEnd(role string, pod *corev1.Pod) error {
	switch {
	case pod == nil || !pod.DeletionTimestamp.IsZero():
		return interrupt(v1alpha1.DetailProxyEnded, "the %s pod is gone", role)
	case !ended(pod):
		return nil
	}
	switch detail, own := shortage(pod); {
	case own:
		return refuse(v1alpha1.ResultOf(detail), detail, role, "the %s pod ended: %s", role, lastWords(pod))
	default:
		return interrupt(detail, "the %s pod ended: %s", role, lastWords(pod))
	}
}

// maxLastWords bounds what a message repeats of a container's last line.
const maxLastWords = 200

// lastWords says how a pod ended, with the last line of what its containers said: the
// lines before it are of a log.
func lastWords(pod *corev1.Pod) string {
	pod = pod.DeepCopy()
	for i := range pod.Status.ContainerStatuses {
		if end := pod.Status.ContainerStatuses[i].State.Terminated; end != nil {
			said := strings.TrimSpace(end.Message)
			said = said[strings.LastIndexByte(said, '\n')+1:]
			end.Message = said[:min(len(said), maxLastWords)]
		}
	}
	return podProblem(pod)
}

// What kubelets say of an eviction, kernels of a full disk, and Squid of a log that it
// cannot write.
const (
	evicted      = "Evicted"
	oomKilled    = "OOMKilled"
	noSpace      = "No space left on device"
	noLog        = "FATAL: logfileWrite"
	volumeIsFull = "Usage of EmptyDir volume"
)

// shortage names what a pod that ended was short of; DetailProxyEnded if of nothing.
// own is true if it was the pod's own limit and not the node's.
func shortage(pod *corev1.Pod) (detail v1alpha1.Detail, own bool) {
	for _, c := range pod.Status.ContainerStatuses {
		switch end := c.State.Terminated; {
		case end == nil:
		case end.Reason == oomKilled:
			return v1alpha1.DetailProxyOutOfMemory, true
		case strings.Contains(end.Message, noSpace) || strings.Contains(end.Message, noLog):
			// A volume's limit is the kubelet's to enforce: this is the node's disk.
			return v1alpha1.DetailProxyDiskFull, false
		}
	}
	said := strings.ToLower(pod.Status.Message)
	switch {
	case pod.Status.Reason != evicted:
		return v1alpha1.DetailProxyEnded, false
	case strings.Contains(pod.Status.Message, volumeIsFull):
		return v1alpha1.DetailProxyDiskFull, true
	case strings.Contains(said, "ephemeral") || strings.Contains(said, "disk") || strings.Contains(said, "fs."):
		return v1alpha1.DetailProxyDiskFull, false
	case strings.Contains(said, "memory"):
		return v1alpha1.DetailProxyOutOfMemory, false
	}
	return v1alpha1.DetailProxyEnded, false
}

// proxyTold looks, before a failed installation or audit is judged, for a proxy that
// ended under it, and gives the kubelet a moment to tell of one.
func proxyTold(s *scope) error {
	e := s.execution()
	if !s.proxyReady() || !doubtsProxy(e) {
		return nil
	}
	if err := proxyLost(s); err != nil || e.FinishedAt == nil {
		return err
	}
	// Another clock than this one wrote that moment.
	if left := podNewsBound - s.now.Sub(e.FinishedAt.Time); left > 0 && left <= podNewsBound {
		return hold("", v1alpha1.DetailRunning, min(left, settle), "looking for what became of mirror and Squid")
	}
	return nil
}

// doubtsProxy is true if something failed that a proxy which ended could have failed.
func doubtsProxy(e *v1alpha1.ExecutionStatus) bool {
	if e.CacheAudit != nil && e.CacheAudit.Problem != "" {
		return true
	}
	for _, tree := range e.Trees {
		for _, c := range tree.Commands {
			if c.Phase == v1alpha1.VMProvisioning && c.Network == v1alpha1.NetworkPackageProxy && c.Classification != v1alpha1.ClassSucceeded {
				return true
			}
		}
	}
	return false
}
