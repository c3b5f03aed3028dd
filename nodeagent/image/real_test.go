//go:build images

package image

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/testneeds"
	"github.com/ai-dossier/zt-operator/nodeagent/erofs/erofstest"
)

// pushLayout uploads the one image of an OCI layout folder.
func (r *testRegistry) pushLayout(dir, repository string) string {
	r.t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		r.t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		r.t.Fatalf("%s: %v, %v", dir, manifest, err)
	}
	digest := manifest.Manifests[0].Digest
	img, err := index.Image(digest)
	if err != nil {
		r.t.Fatal(err)
	}
	tag, err := name.NewTag(r.host + "/" + repository + ":latest")
	if err != nil {
		r.t.Fatal(err)
	}
	if err := remote.Write(tag, img); err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprintf("%s/%s@%s", r.host, repository, digest)
}

// TestTheProjectsImagesBake bakes the images that hack/images/build.sh made;
// ZT_TEST_IMAGES names their folder. hack/test.sh vm runs it.
func TestTheProjectsImagesBake(t *testing.T) {
	dir := testneeds.File(t, "ZT_TEST_IMAGES")
	r, s := newRegistry(t), newStore(t)
	spec := v1alpha1.ZTProfileSpec{
		Guest: v1alpha1.PinnedImage{Image: r.pushLayout(filepath.Join(dir, "guest"), "guest")},
		Runtimes: []v1alpha1.Runtime{{
			Name: "node-22", PinnedImage: v1alpha1.PinnedImage{Image: r.pushLayout(filepath.Join(dir, "worker-node-22"), "node")},
		}},
		VM: v1alpha1.VMSpec{DiskMiB: 4096},
	}
	start := time.Now()
	m := mustBake(t, s, spec)
	t.Logf("baked in %v: %+v", time.Since(start), m)
	root := erofstest.Mount(t, m.Runtimes["node-22"].Path)
	out, err := exec.Command("chroot", root, "/usr/local/bin/node", "-p", "process.version").CombinedOutput()
	t.Logf("node says %s", out)
	if err != nil {
		t.Error(err)
	}
	start = time.Now()
	fresh, err := Open(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	again := mustBake(t, fresh, spec)
	t.Logf("found again in %v", time.Since(start))
	start = time.Now()
	if err := again.Verify(); err != nil {
		t.Error(err)
	}
	t.Logf("verified in %v", time.Since(start))
	if out, err := exec.Command("fsck.erofs", m.Runtimes["node-22"].Path).CombinedOutput(); err != nil {
		t.Errorf("fsck.erofs: %s", out)
	}
}
