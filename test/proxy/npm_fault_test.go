//go:build proxy

package proxy

import (
	"strings"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// What Verdaccio makes of a registry that fails it: never a whole answer, always in
// bounded time, and a reason in Squid's log.
func TestTheNpmMirrorNamesFailuresAndNeverHangs(t *testing.T) {
	c := chains["Verdaccio"](t, folder(t, 0o777))
	for _, tc := range []struct {
		name, path string
		reason     v1alpha1.Detail
	}{
		{"a package whose document the registry fails to serve", "/broken", v1alpha1.DetailRegistryError},
		{"a tarball that ends early", fakeTarball("short"), v1alpha1.DetailRegistryReplyBroken},
		{"a tarball that never begins", fakeTarball("silent"), v1alpha1.DetailRegistryTimedOut},
		{"a tarball that stops in the middle", fakeTarball("stuck"), v1alpha1.DetailRegistryTimedOut},
	} {
		t.Run(tc.name, func(t *testing.T) {
			begun := len(c.squid.log())
			got := make(chan answer, 1)
			go func() { got <- c.mirror.get(c.top, tc.path) }()
			wantBroken(t, got, 15*time.Second)
			for waited := time.Now(); ; time.Sleep(20 * time.Millisecond) {
				counts := failuresIn(t, c.squid.log()[begun:])
				if counts[tc.reason] > 0 {
					return
				}
				if time.Since(waited) > 5*time.Second {
					t.Fatalf("failures are %v, want %s", counts, tc.reason)
				}
			}
		})
	}
	c.wantNoWholeFile(t)
	t.Run("a package that is served after all that", func(t *testing.T) {
		// Verdaccio rests for some seconds from a registry that failed too often.
		for begun := time.Now(); ; time.Sleep(200 * time.Millisecond) {
			if a := c.mirror.get(c.top, fakeTarball("plain")); a.status == 200 && a.whole() && len(a.text) > tarballSize {
				return
			} else if time.Since(begun) > clientTimeout {
				t.Fatalf("status %d, %d bytes", a.status, len(a.text))
			}
		}
	})
	c.squid.cleanAudit(t, c.squid.policy, 5)
}

func failuresIn(t *testing.T, log string) map[v1alpha1.Detail]int64 {
	t.Helper()
	counts := map[v1alpha1.Detail]int64{}
	for _, f := range egressOf(t, strings.NewReader(log)).Failures {
		counts[f.Reason] += f.Count
	}
	return counts
}
