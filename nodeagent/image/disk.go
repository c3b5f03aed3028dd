package image

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// newDiskBase makes a sparse ext4 of the given size in bytes.
func newDiskBase(ctx context.Context, path string, size int64) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := file.Truncate(size); err != nil {
		return fmt.Errorf("size the disk: %w", err)
	}
	if err := makeExt4(ctx, path); err != nil {
		return err
	}
	if err := file.Sync(); err != nil { // unwritten blocks show as holes only then
		return err
	}
	punch(file, size)
	return nil
}

// runDiskPrefix marks staging folders that live outside the bake lock, for far less
// than runDiskAge.
const (
	runDiskPrefix = "run-disk-"
	runDiskAge    = 10 * time.Minute
)

// NewDisk makes the disk of one run at path: a qcow2 overlay of the manifest's
// disk base, mode 0600, owned by uid. Path must be absolute and must not exist; its
// folder may be uid's own, so nothing there is followed or overwritten.
func (s *Store) NewDisk(ctx context.Context, m *Manifest, path string, uid uint32) error {
	if !filepath.IsAbs(path) || strings.ContainsAny(m.DiskBase.Path, ",\n") {
		return refuse(v1alpha1.DetailNodeError, nil, "run disk %q: the path must be absolute", path)
	}
	stage, err := os.MkdirTemp(s.path(stagingDir), runDiskPrefix)
	if err != nil {
		return fmt.Errorf("make a run disk: %w", err)
	}
	defer os.RemoveAll(stage)
	overlay := filepath.Join(stage, "disk.qcow2")
	if err := run(ctx, "qemu-img", "create", "-q", "-f", "qcow2", "-b", m.DiskBase.Path, "-F", "raw", overlay); err != nil {
		return refuse(v1alpha1.DetailNodeError, err, "make a run disk")
	}
	if err := deliver(overlay, path, uid); err != nil {
		return refuse(v1alpha1.DetailNodeError, err, "make a run disk")
	}
	return nil
}

// deliver copies a file to a new one that belongs to uid.
func deliver(from, to string, uid uint32) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if closing := target.Close(); err == nil {
			err = closing
		}
		if err != nil {
			_ = os.Remove(to)
		}
	}()
	if _, err := io.Copy(target, source); err != nil {
		return err
	}
	return target.Chown(int(uid), int(uid))
}
