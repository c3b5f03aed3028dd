package erofstest

import (
	"os/exec"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/testneeds"
)

// Mount mounts an image file for the time of the test and returns the folder. An image
// that the kernel refuses fails the test.
func Mount(t testing.TB, image string) string {
	t.Helper()
	testneeds.Root(t)
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "erofs", "-o", "loop,ro", image, dir).CombinedOutput(); err != nil {
		t.Fatalf("the kernel does not mount %s: %v: %s", image, err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir
}
