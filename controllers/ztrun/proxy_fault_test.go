package ztrun

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/test/builders"
)

func endedPod(change func(*corev1.PodStatus)) *corev1.Pod {
	pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed}}
	change(&pod.Status)
	return pod
}

func terminated(code int32, reason, message string) func(*corev1.PodStatus) {
	return func(s *corev1.PodStatus) {
		// A pod with a second container goes on running.
		s.Phase = corev1.PodRunning
		s.ContainerStatuses = []corev1.ContainerStatus{
			{Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}},
			{Name: "beside", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
		}
	}
}

func eviction(message string) func(*corev1.PodStatus) {
	return func(s *corev1.PodStatus) { s.Reason, s.Message = evicted, message }
}

// The messages are those of kubelets and of the squid image.
var proxyEnds = map[string]struct {
	pod    *corev1.Pod
	detail v1alpha1.Detail
	again  bool
}{
	"the pod is gone": {nil, v1alpha1.DetailProxyEnded, true},
	"the pod is being deleted": {
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: ptr.To(metav1.NewTime(epoch))}}, v1alpha1.DetailProxyEnded, true,
	},
	"a container was killed":   {endedPod(terminated(137, "Error", "")), v1alpha1.DetailProxyEnded, true},
	"a container left quietly": {endedPod(terminated(0, "Completed", "")), v1alpha1.DetailProxyEnded, true},
	"a container was over its memory limit": {
		endedPod(terminated(137, "OOMKilled", "")), v1alpha1.DetailProxyOutOfMemory, false,
	},
	"Squid could not write its log": {
		endedPod(terminated(1, "Error", "squid: ended with code 1\n2026/12/01 00:06:30| FATAL: logfileWrite: stdio:/run/squid/access.log: (0) No error.\n")), v1alpha1.DetailProxyDiskFull, true,
	},
	"Squid could not even start on a full disk": {
		endedPod(terminated(78, "Error", "squid: refused to start: the certificate database cannot be made\ncreate: No space left on device\n")), v1alpha1.DetailProxyDiskFull, true,
	},
	"a volume was over its limit": {
		endedPod(eviction(`Usage of EmptyDir volume "storage" exceeds the limit "4Gi". `)), v1alpha1.DetailProxyDiskFull, false,
	},
	"the node's disk was full": {
		endedPod(eviction("The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 900Mi. ")), v1alpha1.DetailProxyDiskFull, true,
	},
	"the node's disk had no inodes left": {
		endedPod(eviction("The node was low on resource: nodefs.inodesFree. ")), v1alpha1.DetailProxyDiskFull, true,
	},
	"the node took no pods for want of disk": {
		endedPod(eviction("Pod was rejected: The node had condition: [DiskPressure]. ")), v1alpha1.DetailProxyDiskFull, true,
	},
	"the node was short of memory": {
		endedPod(eviction("The node was low on resource: memory. Threshold quantity: 100Mi, available: 80Mi. Container mirror was using 200Mi, request is 96Mi, has larger consumption of memory. ")),
		v1alpha1.DetailProxyOutOfMemory, true,
	},
	"the node was short of process ids": {endedPod(eviction("The node was low on resource: pids. ")), v1alpha1.DetailProxyEnded, true},
}

func TestTheEndOfAProxyIsNamed(t *testing.T) {
	for name, tc := range proxyEnds {
		t.Run(name, func(t *testing.T) {
			err := proxyEnd(v1alpha1.RoleMirror, tc.pod)
			var again *interrupted
			var end *terminal
			switch {
			case errors.As(err, &again):
				if !tc.again || again.detail != tc.detail {
					t.Errorf("another attempt for %s, want %s (again: %v)", again.detail, tc.detail, tc.again)
				}
			case errors.As(err, &end):
				if tc.again || end.outcome.Detail != tc.detail || end.outcome.Subject != v1alpha1.RoleMirror {
					t.Errorf("ended by %+v, want %s (again: %v)", end.outcome, tc.detail, tc.again)
				}
			default:
				t.Errorf("%v", err)
			}
			entry, _ := v1alpha1.Explain(tc.detail)
			if entry.Result != v1alpha1.ResultProvisioningFailed || !tc.detail.Pauses() {
				t.Errorf("%s is %s, pauses: %v", tc.detail, entry.Result, tc.detail.Pauses())
			}
		})
	}
	if err := proxyEnd(v1alpha1.RoleSquid, &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}); err != nil {
		t.Errorf("a pod that runs: %v", err)
	}
}

func TestAProxyThatEndsBeforeItIsReadyIsNamedByItsShortage(t *testing.T) {
	for name, want := range map[string]v1alpha1.Detail{
		"a container was over its memory limit": v1alpha1.DetailProxyOutOfMemory,
		"a volume was over its limit":           v1alpha1.DetailProxyDiskFull,
		"a container was killed":                v1alpha1.DetailProxyNotReady,
	} {
		var end *terminal
		if err := endedEarly("squid", proxyEnds[name].pod); !errors.As(err, &end) || end.outcome.Detail != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// failedInstall is a finished execution whose first tree installed nothing.
func failedInstall(at time.Time) *v1alpha1.ExecutionStatus {
	e := builders.Execution(1, bundleDigest).Proven().Finished().Object()
	e.Trees = e.Trees[:1]
	e.Trees[0].Commands = e.Trees[0].Commands[:1]
	e.Trees[0].Commands[0].Network = v1alpha1.NetworkPackageProxy
	e.Trees[0].Commands[0].Classification, e.Trees[0].Commands[0].ExitCode = v1alpha1.ClassFailed, ptr.To[int32](1)
	e.CacheAudit, e.FinishedAt = nil, ptr.To(metav1.NewTime(at))
	return e
}

func TestAFailedInstallationIsJudgedOnceItIsKnownWhetherItsProxyRuns(t *testing.T) {
	running := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	unaudited := builders.Execution(1, bundleDigest).Proven().Finished().Object()
	unaudited.CacheAudit.Problem, unaudited.FinishedAt = "connection refused", ptr.To(metav1.NewTime(epoch))
	for name, tc := range map[string]struct {
		e             *v1alpha1.ExecutionStatus
		squid, mirror *corev1.Pod
		want          string
	}{
		"both run, and it just failed":           {failedInstall(epoch.Add(-time.Second)), running, running, "wait"},
		"both run, and it failed a while ago":    {failedInstall(epoch.Add(-podNewsBound)), running, running, "judge"},
		"both run, by a clock that is far ahead": {failedInstall(epoch.Add(time.Hour)), running, running, "judge"},
		"the mirror was killed":                  {failedInstall(epoch), running, proxyEnds["a container was killed"].pod, "again"},
		"the mirror was over its memory limit":   {failedInstall(epoch), running, proxyEnds["a container was over its memory limit"].pod, "end"},
		"Squid was over its volume's limit":      {failedInstall(epoch), proxyEnds["a volume was over its limit"].pod, running, "end"},
		"Squid and then the mirror ended":        {failedInstall(epoch), proxyEnds["a container was over its memory limit"].pod, nil, "end"},
		"a proof whose cache nobody could audit": {unaudited, running, proxyEnds["a container was over its memory limit"].pod, "end"},
		"a proof that has all it needs, without its proxy by now": {
			builders.Execution(1, bundleDigest).Proven().Finished().Object(), nil, nil, "judge",
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := builders.Run("fix").Object()
			run.Status.Attempt, run.Status.Execution = 1, tc.e
			run.Status.Timings = &v1alpha1.RunTimings{ProxyReady: ptr.To(metav1.NewTime(epoch))}
			s := newScope(run, epoch)
			s.squid, s.mirror = tc.squid, tc.mirror
			if got := kindOfError(proxyTold(s)); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func kindOfError(err error) string {
	var again *interrupted
	var end *terminal
	var wait *waiting
	switch {
	case err == nil:
		return "judge"
	case errors.As(err, &again):
		return "again"
	case errors.As(err, &end):
		return "end"
	case errors.As(err, &wait) && wait.after > 0 && wait.after <= podNewsBound:
		return "wait"
	}
	return err.Error()
}

// What its own limits ended would end again: no attempt is spent on that.
func TestAMirrorThatIsOutOfMemoryPausesTheRunAtOnce(t *testing.T) {
	for name, want := range map[string]v1alpha1.Detail{
		"a container was over its memory limit": v1alpha1.DetailProxyOutOfMemory,
		"a volume was over its limit":           v1alpha1.DetailProxyDiskFull,
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := readyWorld(t)
			w.toRunning()
			edit(w, w.pod(v1alpha1.RoleMirror), func(p *corev1.Pod) { p.Status = *proxyEnds[name].pod.Status.DeepCopy() })
			w.pass()
			w.settle()
			w.advance(cleanedBound)
			w.wantPaused(want, "the mirror pod ended")
			if got := w.run().Status.Attempt; got != 1 {
				t.Errorf("attempt %d, want none after the first", got)
			}
		})
	}
}

func TestALogIsNotRepeatedInTheMessage(t *testing.T) {
	log := strings.Repeat(`{"v":1,"t":1796071307.948}`+"\n", 40)
	pod := endedPod(terminated(137, "Error", log+"squid: ended with code 137\n"))
	if got, want := lastWords(pod), "container main: exit status 137 Error squid: ended with code 137; container beside: running, not ready"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if pod.Status.ContainerStatuses[0].State.Terminated.Message != log+"squid: ended with code 137\n" {
		t.Error("the pod was changed")
	}
}
