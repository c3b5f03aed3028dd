//go:build proxy

package proxy

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/ai-dossier/zt-operator/internal/testneeds"
)

// imageRoot returns the root filesystem of one of the project's images, as
// hack/images/build.sh made it last.
func imageRoot(t *testing.T, name string) string {
	t.Helper()
	output, err := exec.Command("../../hack/images/unpack.sh", name).Output()
	if err != nil {
		t.Fatalf("no root filesystem of image %s: %v; run hack/images/build.sh %s", name, err, name)
	}
	return strings.TrimSpace(string(output))
}

// imageConfig returns what the image says about its process.
func imageConfig(t *testing.T, name string) v1.Config {
	t.Helper()
	index, err := layout.ImageIndexFromPath(filepath.Join(testneeds.Cache(t), "images", name))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("image %s: %v, %v", name, manifest, err)
	}
	img, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	return file.Config
}

// enter gives a command an image's root, read-only, in a mount namespace of its own,
// with what a pod or the guest would mount there, and the worker's rights.
const enter = `set -e
mount --make-rprivate /
mkdir -p "$VIEW"
mount --bind "$ROOT" "$VIEW"
mount -o remount,bind,ro "$VIEW"
mount --bind /dev "$VIEW/dev"
mount -t proc proc "$VIEW/proc"
mount -t tmpfs tmpfs "$VIEW/tmp"
chmod 1777 "$VIEW/tmp"
for pair in $MOUNTS; do mount --bind "${pair%%:*}" "$VIEW${pair#*:}"; done
exec chroot "$VIEW" setpriv --reuid 1000 --regid 1000 --clear-groups --bounding-set -all --inh-caps -all --no-new-privs \
	env -C "$DIR" -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/tmp "$@"`

// container is a command in an image's root in a network namespace.
type container struct {
	namespace, root string
	// mounts are folders of the machine by where they are in the image.
	mounts map[string]string
	env    map[string]string
	// dir is the working directory; the root if empty.
	dir string
}

func (c container) command(t *testing.T, argv ...string) *exec.Cmd {
	t.Helper()
	var mounts []string
	for target, source := range c.mounts {
		mounts = append(mounts, source+":"+target)
	}
	args := []string{"netns", "exec", c.namespace, "unshare", "-m", "sh", "-c", enter, "sh"}
	for name, value := range c.env {
		args = append(args, name+"="+value)
	}
	cmd := exec.Command("ip", append(args, argv...)...)
	cmd.Env = []string{
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "ROOT=" + c.root, "VIEW=" + filepath.Join(folder(t, 0o755), "root"),
		"MOUNTS=" + strings.Join(mounts, " "), "DIR=" + cmp.Or(c.dir, "/"),
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// run runs a command to its end and returns what it printed.
func (c container) run(t *testing.T, argv ...string) (string, error) {
	t.Helper()
	var output bytes.Buffer
	cmd := c.command(t, argv...)
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return output.String(), fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, tailOf(output.String()))
	}
	return output.String(), nil
}

// folder makes a temporary folder that other users can enter, too.
func folder(t *testing.T, mode os.FileMode) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "zt-t-")
	if err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		err = os.Chmod(dir, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
