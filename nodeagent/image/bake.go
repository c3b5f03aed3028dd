package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// recipe names how inputs become images. A change of it bakes everything again.
const recipe = "zt-bake-v1"

// Where the guest image keeps what a VM boots.
const (
	guestKernel = "boot/vmlinux"
	guestInitrd = "boot/initrd.cpio"
)

// mountPoints must exist in a worker root, which is read-only in the VM.
var mountPoints = map[string]os.FileMode{
	"workspace":   0o755,
	"opt/ztfc":    0o755,
	"ztfc/report": 0o755,
	"tmp":         0o777 | os.ModeSticky,
	"proc":        0o555,
	"dev":         0o755,
	"sys":         0o555,
}

// Bake makes everything the VMs of a profile boot from and reuses what the store
// has. It tells progress, a line for people, what it is doing; progress may be nil.
// One bake runs per store at a time. Its error is an *Error unless ctx ended.
func (s *Store) Bake(ctx context.Context, spec v1alpha1.ZTProfileSpec, progress func(string)) (*Manifest, error) {
	if progress == nil {
		progress = func(string) {}
	}
	manifest, err := s.bake(ctx, spec, progress)
	var named *Error
	switch {
	case err == nil:
		return manifest, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &named):
		return nil, named
	default:
		return nil, refuse(v1alpha1.DetailBakeFailed, err, "the node could not bake the profile")
	}
}

func (s *Store) bake(ctx context.Context, spec v1alpha1.ZTProfileSpec, progress func(string)) (*Manifest, error) {
	unlock, err := s.lock(ctx, progress)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := s.sweep(); err != nil {
		return nil, err
	}
	manifest := &Manifest{Recipe: recipe, Runtimes: map[string]File{}}
	guest, err := s.guest(ctx, spec.Guest.Image, named(progress, "guest"))
	if err != nil {
		return nil, err
	}
	manifest.Kernel, manifest.Initrd = guest["kernel"], guest["initrd"]
	for _, runtime := range spec.Runtimes {
		made, err := s.runtime(ctx, runtime.Image, named(progress, runtime.Name))
		if err != nil {
			return nil, err
		}
		manifest.Runtimes[runtime.Name] = made["root"]
	}
	disk, err := s.diskBase(ctx, spec.VM.DiskMiB, named(progress, "disk"))
	if err != nil {
		return nil, err
	}
	manifest.DiskBase = disk["disk"]
	return manifest, s.seal(manifest)
}

func named(progress func(string), what string) func(string) {
	return func(line string) { progress(what + ": " + line) }
}

// sweep removes what an interrupted bake left. The lock is held.
func (s *Store) sweep() error {
	left, err := os.ReadDir(s.path(stagingDir))
	if err != nil {
		return err
	}
	for _, entry := range left {
		if strings.HasPrefix(entry.Name(), runDiskPrefix) && recent(entry) {
			continue
		}
		if err := os.RemoveAll(s.path(stagingDir, entry.Name())); err != nil {
			return fmt.Errorf("remove what an interrupted bake left: %w", err)
		}
	}
	return nil
}

// recent says whether a folder may still be in use outside the lock.
func recent(entry os.DirEntry) bool {
	info, err := entry.Info()
	return err == nil && time.Since(info.ModTime()) < runDiskAge
}

func (s *Store) guest(ctx context.Context, reference string, progress func(string)) (map[string]File, error) {
	input, err := inputOf("guest", reference)
	if err != nil {
		return nil, err
	}
	return s.make(input, progress, func(stage string) (map[string]string, error) {
		image, err := s.flatten(ctx, reference, stage, progress)
		if err != nil {
			return nil, err
		}
		kernel, err := image.pick(reference, guestKernel)
		if err != nil {
			return nil, err
		}
		initrd, err := image.pick(reference, guestInitrd)
		if err != nil {
			return nil, err
		}
		return map[string]string{"kernel": kernel, "initrd": initrd}, nil
	})
}

// pick returns the spooled file of a regular file in the image.
func (f *flat) pick(reference, path string) (string, error) {
	segments, err := split(path)
	if err != nil {
		return "", err
	}
	node := f.tree.lookup(segments)
	if node == nil || !node.mode.IsRegular() || node.size == 0 {
		return "", refuse(v1alpha1.DetailProfileImageUnpackable, nil,
			"guest image %s has no file /%s; it must carry /%s and /%s", reference, path, guestKernel, guestInitrd)
	}
	return filepath.Join(f.spool, strconv.Itoa(node.content)), nil
}

func (s *Store) runtime(ctx context.Context, reference string, progress func(string)) (map[string]File, error) {
	input, err := inputOf("runtime", reference)
	if err != nil {
		return nil, err
	}
	return s.make(input, progress, func(stage string) (map[string]string, error) {
		image, err := s.flatten(ctx, reference, stage, progress)
		if err != nil {
			return nil, err
		}
		for path, mode := range mountPoints {
			if err := image.tree.require(path, mode); err != nil {
				return nil, unpackable(reference, err)
			}
		}
		progress("packing the root file system")
		path := filepath.Join(stage, "root.erofs")
		return map[string]string{"root": path}, unpackable(reference, image.pack(path))
	})
}

func (s *Store) diskBase(ctx context.Context, mebibytes int32, progress func(string)) (map[string]File, error) {
	if mebibytes < 1 {
		return nil, refuse(v1alpha1.DetailBakeFailed, nil, "the profile's vm.diskMiB is %d; it must be at least 512", mebibytes)
	}
	tool, err := toolDigest("mke2fs")
	if err != nil {
		return nil, err
	}
	input := input{Recipe: recipe, Kind: "disk", Source: strconv.Itoa(int(mebibytes)), Tool: tool}
	return s.make(input, progress, func(stage string) (map[string]string, error) {
		progress("making the base of run disks")
		path := filepath.Join(stage, "disk.ext4")
		return map[string]string{"disk": path}, newDiskBase(ctx, path, int64(mebibytes)<<20)
	})
}
