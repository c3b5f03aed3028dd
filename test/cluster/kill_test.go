//go:build cluster

package cluster

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// killSquid ends the process in a Squid's container, as the kernel might.
const killSquid = forSquid + `do kill -KILL "$p" && echo done; done; true`

// forSquid begins a loop over Squid's processes in its container.
const forSquid = `for p in $(for c in /proc/[0-9]*/comm; do read -r name <"$c" && [ "$name" = squid ] && echo "$c"; done | cut -d/ -f3); `

// A proxy that ends under a run costs it an attempt; one that ends again pauses it for
// people. Neither leaves anything, and neither is a verdict.
func TestARunWhoseProxyEndsTwicePauses(t *testing.T) {
	run := fixtures[v1alpha1.EcosystemNPM].submit(t, v1alpha1.EcosystemNPM, defaultName, nil).run

	squid := provisioningWith(t, run, 1, v1alpha1.RoleSquid)
	inPod(t, squid, killSquid)
	wantAttempt(t, run, 1, v1alpha1.AttemptInterrupted, v1alpha1.DetailProxyEnded, "the squid pod ended: container squid: exit status 137 ")

	mirror := provisioningWith(t, run, 2, v1alpha1.RoleMirror)
	if err := kube.Delete(t.Context(), mirror, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	wantAttempt(t, run, 2, v1alpha1.AttemptPaused, v1alpha1.DetailProxyEnded, "the mirror pod")
	paused := awaitRun(t, run, "it is paused with nothing left", func(r *v1alpha1.ZTRun) bool {
		return r.Status.Phase == v1alpha1.PhasePaused && r.Status.Attempts[1].TornDownAt != nil
	})
	if paused.Status.Outcome != nil {
		t.Errorf("a paused run has the outcome %+v", paused.Status.Outcome)
	}
	nothingLeft(t, paused)
}

// inPod runs a script that says done in the first container of a pod, which may end
// before the script does.
func inPod(t *testing.T, pod *corev1.Pod, script string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "kubectl", "-n", runNamespace, "exec", pod.Name,
		"-c", pod.Spec.Containers[0].Name, "--", "sh", "-c", script).CombinedOutput()
	if !strings.Contains(string(out), "done") {
		t.Fatalf("%s in %s: %v\n%s", script, pod.Name, err, out)
	}
}

// provisioningWith waits until an attempt provisions its first tree and returns the pod
// of a role.
func provisioningWith(t *testing.T, run *v1alpha1.ZTRun, attempt int32, role string) *corev1.Pod {
	t.Helper()
	awaitRun(t, run, fmt.Sprintf("attempt %d provisions", attempt), func(r *v1alpha1.ZTRun) bool {
		e := r.Status.Execution
		return e != nil && e.Attempt == attempt && len(e.Trees) > 0 && e.Trees[0].State == v1alpha1.TreeProvisioning
	})
	pod := &corev1.Pod{}
	key := client.ObjectKey{Namespace: runNamespace, Name: fmt.Sprintf("ztr-%s-%d-%s", run.UID, attempt, role)}
	if err := kube.Get(t.Context(), key, pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

func wantAttempt(t *testing.T, run *v1alpha1.ZTRun, attempt int32, end v1alpha1.AttemptEnd, detail v1alpha1.Detail, says string) {
	t.Helper()
	begun := time.Now()
	seen := awaitRun(t, run, fmt.Sprintf("attempt %d has ended", attempt), func(r *v1alpha1.ZTRun) bool {
		return len(r.Status.Attempts) >= int(attempt)
	})
	record := seen.Status.Attempts[attempt-1]
	t.Logf("attempt %d ended after %s: %s %s", attempt, time.Since(begun).Round(time.Millisecond), record.Detail, record.Message)
	if record.End != end || record.Detail != detail || !strings.Contains(record.Message, says) {
		t.Errorf("attempt %d is recorded as %+v, want %s of %s: %s", attempt, record, end, detail, says)
	}
}

// awaitRun waits for a run to be as wanted.
func awaitRun(t *testing.T, run *v1alpha1.ZTRun, what string, wanted func(*v1alpha1.ZTRun) bool) *v1alpha1.ZTRun {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settle)
	defer cancel()
	seen := &v1alpha1.ZTRun{}
	eventually(t, ctx, what, func() bool {
		return kube.Get(ctx, client.ObjectKeyFromObject(run), seen) == nil && wanted(seen)
	})
	if t.Failed() {
		t.Fatalf("the run is %+v", seen.Status)
	}
	return seen
}
