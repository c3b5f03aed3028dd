package worker

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

// ownPIDs is how many processes and threads crun and the shim take themselves.
const ownPIDs = 12

// cgroup is the control group that crun and all of the worker's processes are born
// into. It outlives the containers, so the kernel's counts can be read after them.
type cgroup struct {
	path string
	dir  *os.File
}

// newCgroup makes the worker's control group below root.
func newCgroup(root string, limits brokerproto.WorkerLimits) (*cgroup, error) {
	if err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+cpu +memory +pids"), 0); err != nil {
		return nil, fmt.Errorf("worker cgroup: %w", err)
	}
	c := &cgroup{path: filepath.Join(root, "worker")}
	if err := os.Mkdir(c.path, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("worker cgroup: %w", err)
	}
	settings := map[string]string{
		"pids.max":   strconv.Itoa(limits.PIDs + ownPIDs),
		"memory.max": strconv.Itoa(limits.MemoryMiB << 20),
	}
	// A limit that binds nothing is not set: the first one makes the kernel patch
	// its running scheduler, which QEMU before 8.1 can get wrong under TCG (a vCPU
	// runs into the patch's int3 and the guest panics).
	if limits.CPUs < runtime.NumCPU() {
		settings["cpu.max"] = fmt.Sprintf("%d 100000", limits.CPUs*100000)
	}
	for name, value := range settings {
		if err := c.write(name, value); err != nil {
			return nil, err
		}
	}
	dir, err := os.Open(c.path)
	if err != nil {
		return nil, fmt.Errorf("worker cgroup: %w", err)
	}
	c.dir = dir
	return c, nil
}

func (c *cgroup) write(name, value string) error {
	if err := os.WriteFile(filepath.Join(c.path, name), []byte(value), 0); err != nil {
		return fmt.Errorf("worker cgroup: %w", err)
	}
	return nil
}

// kill ends every process in the group at once; none can fork out of it.
func (c *cgroup) kill() error { return c.write("cgroup.kill", "1") }

// clear ends every process in the group and waits until all are gone.
func (c *cgroup) clear(bound time.Duration) error {
	deadline := time.Now().Add(bound)
	for pause := time.Millisecond; ; pause *= 2 {
		if c.count("cgroup.events", "populated") == 0 {
			return nil
		}
		if err := c.kill(); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return errors.New("worker cgroup: processes outlive their end")
		}
		time.Sleep(min(pause, 100*time.Millisecond))
	}
}

// oomKills counts the processes that the memory limit has ended so far.
func (c *cgroup) oomKills() int { return c.count("memory.events", "oom_kill") }

// count reads one counter of a flat keyed file; 0 if it is not there.
func (c *cgroup) count(file, key string) int {
	f, err := os.Open(filepath.Join(c.path, file))
	if err != nil {
		return 0
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if value, is := strings.CutPrefix(lines.Text(), key+" "); is {
			n, _ := strconv.Atoi(value)
			return n
		}
	}
	return 0
}
