package podtest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ai-dossier/zt-operator/internal/testneeds"
)

// cgroupRoot is where the machine's cgroup file systems are.
const cgroupRoot = "/sys/fs/cgroup"

// Pod is a real pod of the test.
type Pod struct {
	// UID as the API server would have given it; new for each test.
	UID types.UID
	// HolderPID is the process of the pod's only container.
	HolderPID int
	// Cgroups are the pod's folders, one a hierarchy.
	Cgroups []string
}

// New makes a pod. It skips the test of a user who is not root; what else stands in the
// way of a pod fails it.
func New(t testing.TB) *Pod {
	t.Helper()
	testneeds.Root(t)
	pod := &Pod{UID: newUID(t)}
	for _, hierarchy := range hierarchies(t) {
		pod.makeCgroup(t, filepath.Join(cgroupRoot, hierarchy))
	}
	pod.startHolder(t)
	return pod
}

func newUID(t testing.TB) types.UID {
	t.Helper()
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		t.Fatal(err)
	}
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}

// hierarchies are those the kubelet makes pods in.
func hierarchies(t testing.TB) []string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers")); err == nil {
		return []string{"."}
	}
	found := []string{}
	for _, name := range []string{"memory", "cpu,cpuacct", "cpu", "pids", "cpuset"} {
		if info, err := os.Lstat(filepath.Join(cgroupRoot, name)); err == nil && info.IsDir() {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		t.Fatal("no cgroup hierarchy is mounted at ", cgroupRoot)
	}
	return found
}

// makeCgroup makes the pod's folder and its container's. Of the folders above, it
// removes those that it made.
func (p *Pod) makeCgroup(t testing.TB, root string) {
	t.Helper()
	dir := root
	for _, name := range []string{"kubepods", "burstable", "pod" + string(p.UID), "container"} {
		dir = filepath.Join(dir, name)
		err := os.Mkdir(dir, 0o755)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			t.Fatal("make the pod's cgroups: ", err)
		}
		made, shared := dir, slices.Contains([]string{"kubepods", "burstable"}, name)
		t.Cleanup(func() { removeCgroup(t, made, shared) })
		inherit(t, dir)
		if strings.HasPrefix(name, "pod") {
			p.Cgroups = append(p.Cgroups, dir)
		}
	}
}

// inherit fills a v1 cpuset, and passes controllers on in v2.
func inherit(t testing.TB, dir string) {
	t.Helper()
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(filepath.Dir(dir), name))
		if err == nil && len(value) > 1 {
			_ = os.WriteFile(filepath.Join(dir, name), value, 0)
		}
	}
	_ = os.WriteFile(filepath.Join(filepath.Dir(dir), "cgroup.subtree_control"), []byte("+memory +cpu +pids"), 0)
}

func removeCgroup(t testing.TB, dir string, shared bool) {
	for range 200 {
		err := os.Remove(dir)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	if !shared { // Another test's pod may live in a shared one by now.
		t.Errorf("cgroup %s is still there", dir)
	}
}

// startHolder starts the pod's process; its thread is kept, because PDEATHSIG fires
// when that ends.
func (p *Pod) startHolder(t testing.TB) {
	t.Helper()
	holder := exec.Command("sleep", "100000")
	holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(ended)
		err := holder.Start()
		started <- err
		if err == nil {
			_, _ = holder.Process.Wait()
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Process.Kill(); <-ended })
	p.HolderPID = holder.Process.Pid
	for _, dir := range p.Cgroups {
		procs := filepath.Join(dir, "container", "cgroup.procs")
		if err := os.WriteFile(procs, fmt.Append(nil, p.HolderPID), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := loopbackUp(p.HolderPID); err != nil {
		t.Fatal("bring the pod's loopback up: ", err)
	}
}

// The main thread cannot be thrown away as loopbackUp's is; see package placement.
func init() { runtime.LockOSThread() }

// loopbackUp does what the network plugin does for every pod.
func loopbackUp(pid int) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // Never unlocked: the thread ends here.
		done <- func() error {
			netns, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
			if err != nil {
				return err
			}
			defer netns.Close()
			if err := unix.Setns(int(netns.Fd()), unix.CLONE_NEWNET); err != nil {
				return err
			}
			return setUp("lo")
		}()
	}()
	return <-done
}

func setUp(device string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	request, err := unix.NewIfreq(device)
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}
