//go:build cluster

package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/cli/submit"
)

// TestRefusals: what cannot be run is refused with a named reason, before any VM,
// and leaves nothing behind.
func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil  func(*testing.T, *submit.Request)
		detail v1alpha1.Detail
		// unplaced: refused before there is a pod.
		unplaced bool
	}{
		"a profile that does not exist": {
			spoil:  func(_ *testing.T, r *submit.Request) { r.Profile = "nonesuch" },
			detail: v1alpha1.DetailUnknownProfile, unplaced: true},
		"a policy that does not exist": {
			spoil:  func(_ *testing.T, r *submit.Request) { r.Policy = "nonesuch" },
			detail: v1alpha1.DetailUnknownPolicy, unplaced: true},
		"a profile that no node can run": {
			spoil:  func(t *testing.T, r *submit.Request) { r.Profile = profileWithoutNode(t) },
			detail: v1alpha1.DetailNoCapableNode, unplaced: true},
		"a ConfigMap that does not exist": {
			spoil:  func(_ *testing.T, r *submit.Request) { r.Bundle = nil },
			detail: v1alpha1.DetailBundleMissing, unplaced: true},
		"bytes that are no bundle": {
			spoil:  func(_ *testing.T, r *submit.Request) { r.Bundle = []byte("PK\x03\x04 not a bundle") },
			detail: v1alpha1.DetailBundleInvalid},
		"a bundle cut short": {
			spoil:  func(_ *testing.T, r *submit.Request) { r.Bundle = r.Bundle[:len(r.Bundle)*2/3] },
			detail: v1alpha1.DetailBundleInvalid},
		"a commit that the bundle lacks": {
			spoil:  func(_ *testing.T, r *submit.Request) { r.Candidate = strings.Repeat("1234", 10) },
			detail: v1alpha1.DetailCommitNotInBundle},
		"a regression test that is not in the tree": {
			spoil:  func(_ *testing.T, r *submit.Request) { r.Targets = []string{"test/nonesuch.test.js"} },
			detail: v1alpha1.DetailTargetMissing},
		"a repository without a lockfile": {
			spoil: func(t *testing.T, r *submit.Request) {
				name := r.Name
				*r = request(t, repository(t, withoutLockfile))
				r.Name = name
			},
			detail: v1alpha1.DetailMissingLockfile},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := request(t, repository(t, nil))
			tc.spoil(t, &r)
			run := finished(t, submitted(t, r), proofTime)
			wantOutcome(t, run, v1alpha1.ResultOf(tc.detail), tc.detail)
			if e := run.Status.Execution; e != nil && len(e.Trees) != 0 {
				t.Errorf("%d VMs were started for it", len(e.Trees))
			}
			if tc.unplaced && run.Status.NodeName != "" {
				t.Errorf("it was placed on %s", run.Status.NodeName)
			}
			nothingLeft(t, run)
		})
	}
}

// submitted creates the run; without a bundle, the run alone.
func submitted(t *testing.T, r submit.Request) *v1alpha1.ZTRun {
	t.Helper()
	if r.Bundle != nil {
		return create(t, r)
	}
	_, run, err := r.Objects()
	if err != nil {
		t.Fatal(err)
	}
	if err := kube.Create(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, run) })
	return run
}

func withoutLockfile(t *testing.T, base string) {
	if err := os.Remove(filepath.Join(base, "package-lock.json")); err != nil {
		t.Fatal(err)
	}
}

// profileWithoutNode is the default profile for nodes that do not exist.
func profileWithoutNode(t *testing.T) string {
	t.Helper()
	return createProfile(t, "nowhere", func(spec *v1alpha1.ZTProfileSpec) {
		spec.NodeSelector = map[string]string{corev1.LabelHostname: "no-such-node"}
		spec.Limits.PlacementSeconds = 5
	}).Name
}
