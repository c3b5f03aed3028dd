//go:build cluster

package cluster

import (
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

const (
	// stopSquid makes Squid infinitely slow, so that an installation waits for what else
	// is done to its proxy.
	stopSquid = forSquid + `do kill -STOP "$p" && echo done; done`
	// starveSquid takes all the memory that its container may have, in processes so small
	// that Squid is the one that the kernel ends.
	starveSquid = forSquid + `do echo 1000 >/proc/$p/oom_score_adj && echo done; done
		for i in $(seq 80); do head -c 10M /dev/zero | tail -c 10M | sleep 60 & done; wait`
	// fillCache takes more of the mirror's volume than it may have.
	fillCache = `fallocate -l 4200M /verdaccio/storage/fill && echo done`
)

// TestAProxyThatRunsShortPausesTheRun: what a proxy pod's own limits ended would end
// again, so the run waits for people, who are told which limit it was.
func TestAProxyThatRunsShortPausesTheRun(t *testing.T) {
	profile := profileInTurn(t)
	for name, tc := range map[string]struct {
		strike func(t *testing.T, run *v1alpha1.ZTRun)
		detail v1alpha1.Detail
		says   string
	}{
		"Squid's memory": {
			func(t *testing.T, run *v1alpha1.ZTRun) {
				inPod(t, provisioningWith(t, run, 1, v1alpha1.RoleSquid), starveSquid)
			}, v1alpha1.DetailProxyOutOfMemory, "the squid pod ended: container squid: exit status 137 OOMKilled",
		},
		"the mirror's cache": {
			func(t *testing.T, run *v1alpha1.ZTRun) {
				inPod(t, provisioningWith(t, run, 1, v1alpha1.RoleSquid), stopSquid)
				inPod(t, provisioningWith(t, run, 1, v1alpha1.RoleMirror), fillCache)
			}, v1alpha1.DetailProxyDiskFull, `Usage of EmptyDir volume "storage" exceeds the limit "4Gi"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := fixtures[v1alpha1.EcosystemNPM].submit(t, v1alpha1.EcosystemNPM, profile, nil).run
			tc.strike(t, run)
			wantAttempt(t, run, 1, v1alpha1.AttemptPaused, tc.detail, tc.says)
			paused := awaitRun(t, run, "it is paused with nothing left", func(r *v1alpha1.ZTRun) bool {
				return r.Status.Phase == v1alpha1.PhasePaused && r.Status.Attempts[0].TornDownAt != nil
			})
			nothingLeft(t, paused)
		})
	}
}
