package boot

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Where the disks and what is made of them are mounted, in the agent's root.
const (
	// WorkerRoot is the worker's root filesystem, read-only.
	WorkerRoot = "/run/zt/root"
	// Workspace is the tree with the worker's changes over it.
	Workspace = "/run/zt/workspace"
	// State is the worker's state folder.
	State = runDisk + "/state"

	runDisk  = "/run/zt/disk"
	treeDisk = "/run/zt/tree"
)

// WorkerID is the uid and gid of everything the worker may write.
const WorkerID = 1000

// diskWait bounds the wait for a disk's device after its driver was loaded.
const diskWait = 10 * time.Second

// mountDisks mounts the VM's disks: the worker's root, the run's own, the tree.
func mountDisks() error {
	for _, device := range []string{"/dev/vda", "/dev/vdb", "/dev/vdc"} {
		if err := waitFor(device); err != nil {
			return err
		}
	}
	const data = unix.MS_NOSUID | unix.MS_NODEV
	err := mountAll([]mount{
		{"/dev/vda", WorkerRoot, "erofs", data | unix.MS_RDONLY, ""},
		{"/dev/vdb", runDisk, "ext4", data | unix.MS_NOATIME, ""},
		{"/dev/vdc", treeDisk, "erofs", data | unix.MS_RDONLY, ""},
	})
	if err != nil {
		return err
	}
	return mountWorkspace()
}

// mountWorkspace lays the run disk's upper layer over the tree. Both layers outlive
// the phase switch.
func mountWorkspace() error {
	if err := checkTreeOwner(); err != nil {
		return err
	}
	for folder, owner := range map[string]int{"upper": WorkerID, "state": WorkerID, "work": 0} {
		if err := ensureFolder(runDisk+"/"+folder, owner); err != nil {
			return err
		}
	}
	// redirect_dir lets a worker rename a folder of the tree, as on any filesystem.
	layers := "lowerdir=" + treeDisk + ",upperdir=" + runDisk + "/upper,workdir=" + runDisk + "/work,redirect_dir=on,index=off,metacopy=off"
	return mount{"overlay", Workspace, "overlay", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOATIME, layers}.do()
}

// checkTreeOwner refuses a tree that the worker could not write: an overlay shows
// the lower layer's owners.
func checkTreeOwner() error {
	var stat unix.Stat_t
	if err := unix.Stat(treeDisk, &stat); err != nil {
		return fmt.Errorf("tree disk: %w", err)
	}
	if stat.Uid != WorkerID || stat.Gid != WorkerID {
		return fmt.Errorf("tree disk: owned by %d:%d, not by the worker's %d", stat.Uid, stat.Gid, WorkerID)
	}
	return nil
}

// ensureFolder makes a folder for an owner, unless an earlier boot made it.
func ensureFolder(path string, owner int) error {
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("run disk: %w", err)
	}
	if err := os.Chown(path, owner, owner); err != nil {
		return fmt.Errorf("run disk: %w", err)
	}
	return nil
}

func waitFor(device string) error {
	deadline := time.Now().Add(diskWait)
	for {
		if _, err := os.Stat(device); err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("disk %s did not appear", device)
		}
		time.Sleep(time.Millisecond)
	}
}

// Unmount writes everything back and takes the disks off.
func Unmount() {
	unix.Sync()
	for _, target := range []string{Workspace, treeDisk, runDisk, WorkerRoot} {
		if unix.Unmount(target, 0) != nil {
			// Something still holds it; detached and synced, the data is on the disk.
			_ = unix.Unmount(target, unix.MNT_DETACH)
		}
	}
	unix.Sync()
}
