package placement

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// vmCgroup is the child of the pod's cgroup that the VM process runs in. Not the
// container's own cgroup: a foreign process there blocks the container's removal.
const vmCgroup = "vm"

// releaseTimeout bounds killing what is left in the child cgroups.
const releaseTimeout = 5 * time.Second

// required are the v1 controllers without which the pod's limits would not bind.
var required = []string{"memory", "cpu", "pids"}

// cgroupDirs returns the pod's folder in each hierarchy.
func (h Host) cgroupDirs(memberships []membership) ([]string, error) {
	for _, root := range h.CgroupRoots {
		dirs, bound := existing(root, memberships)
		if bound {
			return dirs, nil
		}
	}
	return nil, fmt.Errorf("no cgroup folders of the pod that bind memory, cpu and pids under %s", strings.Join(h.CgroupRoots, " or "))
}

// existing returns the folders that exist under root, and whether they include v2
// or all the required controllers of v1.
func existing(root string, memberships []membership) (dirs []string, bound bool) {
	missing := slices.Clone(required)
	for _, m := range memberships {
		dir, ok := m.dir(root)
		if !ok {
			continue
		}
		dirs = append(dirs, dir)
		if m.controllers == "" && controls(dir) {
			missing = nil
		}
		for controller := range strings.SplitSeq(m.controllers, ",") {
			missing = slices.DeleteFunc(missing, func(name string) bool { return name == controller })
		}
	}
	return dirs, len(missing) == 0
}

// controls reports whether a v2 folder has the memory controller: in a hybrid
// layout v2 exists beside v1 and controls nothing.
func controls(dir string) bool {
	controllers, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	return err == nil && slices.Contains(strings.Fields(string(controllers)), "memory")
}

// dir returns the pod's folder under root. v1 hierarchies are mounted by their
// controller list; v2 is the root itself, or unified beside v1.
func (m membership) dir(root string) (string, bool) {
	mounts := []string{strings.TrimPrefix(m.controllers, "name=")}
	if m.controllers == "" {
		mounts = []string{".", "unified"}
	}
	for _, mount := range mounts {
		dir := filepath.Join(root, mount, m.path)
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, true
		}
	}
	return "", false
}

// makeChild makes the VM's cgroup below a pod's. A v1 cpuset is born empty and
// takes no process until it has been given processors and memory nodes.
func makeChild(podDir string) (string, error) {
	child := filepath.Join(podDir, vmCgroup)
	if err := os.Mkdir(child, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("make the VM's cgroup: %w", err)
	}
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		if err := inherit(podDir, child, name); err != nil {
			return "", fmt.Errorf("make the VM's cgroup: %w", err)
		}
	}
	return child, nil
}

// inherit copies a setting that the child lacks. In v2 an empty one means the
// parent's.
func inherit(parent, child, name string) error {
	value, err := os.ReadFile(filepath.Join(parent, name))
	if errors.Is(err, os.ErrNotExist) || len(bytes.TrimSpace(value)) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	own, err := os.ReadFile(filepath.Join(child, name))
	if err != nil || len(bytes.TrimSpace(own)) > 0 {
		return err
	}
	return os.WriteFile(filepath.Join(child, name), value, 0o644)
}

// removeChildren kills what is left in the folders and removes them.
func removeChildren(children []string) error {
	deadline := time.Now().Add(releaseTimeout)
	for {
		left, err := removeOnce(children)
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("remove the VM's cgroups: %w", err)
		}
		children = left
		time.Sleep(10 * time.Millisecond)
	}
}

func removeOnce(children []string) (left []string, err error) {
	for _, child := range children {
		killIn(child)
		removeErr := unix.Rmdir(child)
		if removeErr != nil && !errors.Is(removeErr, unix.ENOENT) {
			left = append(left, child)
			err = errors.Join(err, fmt.Errorf("%s: %w", child, removeErr))
		}
	}
	return left, err
}

// killIn signals each process of a folder through a handle, after it was seen in
// the folder again with the handle open: a pid alone may be another's by then.
func killIn(dir string) {
	for _, pid := range processes(dir) {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if slices.Contains(processes(dir), pid) {
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		}
		_ = unix.Close(fd)
	}
}

func processes(dir string) []int {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil
	}
	var pids []int
	for field := range strings.FieldsSeq(string(text)) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}
