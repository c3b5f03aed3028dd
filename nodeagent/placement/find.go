package placement

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"
)

// ErrNotFound: no process of the pod runs on this node.
var ErrNotFound = errors.New("no process of the pod is on this node")

// Host is where the node's /proc and cgroup file systems are. The zero value
// stands for the usual places.
type Host struct {
	// Proc is /proc of the node's PID namespace.
	Proc string
	// CgroupRoots are tried in order; the first that has the pod's folder is used.
	CgroupRoots []string
}

// defaultCgroupRoots: a container's own mount may show only its own part of a v1
// hierarchy, so the node's is tried too, through its first process.
var defaultCgroupRoots = []string{"/sys/fs/cgroup", "/proc/1/root/sys/fs/cgroup"}

// Find returns the pod with the given uid, whose processes must be in a network
// namespace of their own. Release it.
func Find(podUID types.UID) (*Pod, error) { return Host{}.Find(podUID) }

// Find is like the function Find, on the given host.
func (h Host) Find(podUID types.UID) (*Pod, error) {
	if h.Proc == "" {
		h.Proc = "/proc"
	}
	if len(h.CgroupRoots) == 0 {
		h.CgroupRoots = defaultCgroupRoots
	}
	matcher, err := newMatcher(podUID)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(h.Proc)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		pod, err := h.podOf(pid, matcher)
		if err != nil {
			return nil, err
		}
		if pod != nil {
			return pod, nil
		}
	}
	return nil, fmt.Errorf("pod %s: %w", podUID, ErrNotFound)
}

// podOf returns nil without an error if the process is none of the pod's, or ended.
func (h Host) podOf(pid int, matcher *matcher) (*Pod, error) {
	memberships := h.memberships(pid, matcher)
	if len(memberships) == 0 {
		return nil, nil
	}
	netns, err := os.Open(filepath.Join(h.Proc, strconv.Itoa(pid), "ns/net"))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("network namespace of the pod: %w", err)
	}
	// The pid may have been another's by the time the namespace was opened.
	if len(h.memberships(pid, matcher)) == 0 {
		return nil, netns.Close()
	}
	pod := &Pod{netns: netns}
	if err := h.checkOwnNamespace(netns); err != nil {
		return nil, errors.Join(err, pod.closeNamespace())
	}
	if pod.cgroups, err = h.cgroupDirs(memberships); err != nil {
		return nil, errors.Join(err, pod.closeNamespace())
	}
	return pod, nil
}

// checkOwnNamespace refuses a pod on the node's network: the VM's forward would be
// on the node's loopback.
func (h Host) checkOwnNamespace(netns *os.File) error {
	var pod unix.Stat_t
	if err := unix.Fstat(int(netns.Fd()), &pod); err != nil {
		return fmt.Errorf("network namespace of the pod: %w", err)
	}
	for _, other := range []string{"self", "1"} {
		var stat unix.Stat_t
		if err := unix.Stat(filepath.Join(h.Proc, other, "ns/net"), &stat); err != nil {
			continue
		}
		if stat.Dev == pod.Dev && stat.Ino == pod.Ino {
			return errors.New("the pod is on the node's network: it needs a network namespace of its own")
		}
	}
	return nil
}

// membership is the pod's cgroup in one hierarchy.
type membership struct {
	// controllers is the v1 controller list or name=NAME; empty in v2.
	controllers string
	// path of the pod's cgroup from the hierarchy's root.
	path string
}

// memberships reads in which hierarchies the process is below the pod's cgroup.
// A process that a former attempt left in our own child cgroup does not count.
func (h Host) memberships(pid int, matcher *matcher) []membership {
	text, err := os.ReadFile(filepath.Join(h.Proc, strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return nil
	}
	var found []membership
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		path, below, ok := matcher.podPath(fields[2])
		if !ok {
			continue
		}
		if below == vmCgroup {
			return nil
		}
		found = append(found, membership{controllers: fields[1], path: path})
	}
	return found
}

// matcher recognises the folder of one pod in a cgroup path.
type matcher struct {
	cgroupfs, systemd string
}

var podUIDShape = regexp.MustCompile(`^[0-9a-zA-Z][0-9a-zA-Z-]{0,63}$`)

// newMatcher knows both spellings: podUID (cgroupfs driver), and
// [ROOT-]kubepods[-QOS]-podU_I_D.slice (systemd driver).
func newMatcher(podUID types.UID) (*matcher, error) {
	if !podUIDShape.MatchString(string(podUID)) {
		return nil, fmt.Errorf("pod uid %q is malformed", podUID)
	}
	escaped := strings.ReplaceAll(string(podUID), "-", "_")
	return &matcher{cgroupfs: "pod" + string(podUID), systemd: "-pod" + escaped + ".slice"}, nil
}

// podPath splits a cgroup path into that of the pod's cgroup and what is below it.
// Only a folder below one named kubepods is a pod's: a container could name its
// own cgroups anything.
func (m *matcher) podPath(path string) (pod, below string, ok bool) {
	components := strings.Split(strings.TrimPrefix(path, "/"), "/")
	underKubepods := false
	for i, component := range components {
		if component == ".." || component == "." {
			return "", "", false
		}
		if underKubepods && m.isPod(component) {
			return "/" + strings.Join(components[:i+1], "/"), strings.Join(components[i+1:], "/"), true
		}
		if isPodFolder(component) {
			return "", "", false // Another pod's: nothing below is the kubelet's.
		}
		underKubepods = underKubepods || component == "kubepods" || strings.HasSuffix(component, "kubepods.slice")
	}
	return "", "", false
}

// podFolderShape is any pod's folder, of either driver; a mirror pod's uid has no
// dashes.
var podFolderShape = regexp.MustCompile(`^(pod[0-9a-f-]{32,36}|([0-9a-z_]+-)*kubepods(-burstable|-besteffort)?-pod[0-9a-f_]{32,36}\.slice)$`)

func isPodFolder(component string) bool { return podFolderShape.MatchString(component) }

func (m *matcher) isPod(component string) bool {
	return component == m.cgroupfs || strings.HasSuffix(component, m.systemd) && isPodFolder(component)
}
