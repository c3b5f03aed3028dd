package placement

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

const (
	podUID   = types.UID("11111111-2222-3333-4444-555555555555")
	otherUID = types.UID("99999999-2222-3333-4444-555555555555")
)

// host is a fake node: its /proc, with files for namespaces, and its cgroups.
type host struct {
	t    *testing.T
	host Host
}

func newHost(t *testing.T) *host {
	t.Helper()
	root := t.TempDir()
	h := &host{t: t, host: Host{Proc: filepath.Join(root, "proc"), CgroupRoots: []string{filepath.Join(root, "none"), filepath.Join(root, "cgroup")}}}
	h.process(1, "0::/init.scope", "node")
	h.mkdir(filepath.Join(h.host.Proc, "sys")) // Not a process.
	return h
}

func (h *host) mkdir(dir string) {
	h.t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		h.t.Fatal(err)
	}
}

// process makes one with the given cgroup lines, in the named network namespace.
func (h *host) process(pid int, cgroups, netns string) {
	h.t.Helper()
	dir := filepath.Join(h.host.Proc, fmt.Sprint(pid))
	h.mkdir(filepath.Join(dir, "ns"))
	namespace := filepath.Join(filepath.Dir(h.host.Proc), "netns-"+netns)
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "cgroup"), []byte(cgroups+"\n"), 0o644),
		os.WriteFile(namespace, nil, 0o644),
		os.Symlink(namespace, filepath.Join(dir, "ns/net")),
	); err != nil {
		h.t.Fatal(err)
	}
}

// cgroup makes a folder of the hierarchy, which has the memory controller if it is v2.
func (h *host) cgroup(path string) {
	h.t.Helper()
	dir := filepath.Join(h.host.CgroupRoots[1], path)
	h.mkdir(dir)
	if err := os.WriteFile(filepath.Join(dir, "cgroup.controllers"), []byte("cpuset cpu io memory pids\n"), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) relative(dirs []string) []string {
	out := []string{}
	for _, dir := range dirs {
		rel, err := filepath.Rel(h.host.CgroupRoots[1], dir)
		if err != nil {
			h.t.Fatal(err)
		}
		out = append(out, rel)
	}
	return out
}

func (h *host) wantFound(want ...string) *Pod {
	h.t.Helper()
	pod, err := h.host.Find(podUID)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = pod.closeNamespace() })
	if got := h.relative(pod.cgroups); !slices.Equal(got, want) {
		h.t.Errorf("got %q, want %q", got, want)
	}
	return pod
}

func TestFindKnowsEveryLayout(t *testing.T) {
	systemd := "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod11111111_2222_3333_4444_555555555555.slice"
	kind := "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod11111111_2222_3333_4444_555555555555.slice"
	v1 := "kubepods/besteffort/pod" + string(podUID)
	cases := map[string]struct{ cgroups, want []string }{
		"v2 with the systemd driver":  {[]string{"0::/" + systemd + "/cri-containerd-abc.scope"}, []string{systemd}},
		"v2 with the cgroupfs driver": {[]string{"0::/" + v1 + "/abc"}, []string{v1}},
		"v2 below a cgroup root":      {[]string{"0::/" + kind + "/cri-containerd-abc.scope"}, []string{kind}},
		"v2 of a guaranteed pod": {
			[]string{"0::/kubepods/pod" + string(podUID) + "/abc"}, []string{"kubepods/pod" + string(podUID)},
		},
		"v1 with joined controllers": {
			[]string{"9:memory:/" + v1 + "/abc", "8:cpu,cpuacct:/" + v1 + "/abc", "7:pids:/" + v1 + "/abc", "1:name=systemd:/" + v1 + "/abc"},
			[]string{"memory/" + v1, "cpu,cpuacct/" + v1, "pids/" + v1, "systemd/" + v1},
		},
		"v1 with a hierarchy that the pod is not in": {
			[]string{"9:memory:/" + v1 + "/abc", "8:cpu:/" + v1 + "/abc", "7:pids:/" + v1 + "/abc", "5:freezer:/", "0::/"},
			[]string{"memory/" + v1, "cpu/" + v1, "pids/" + v1},
		},
		"hybrid, with v2 beside v1": {
			[]string{"9:memory:/" + v1 + "/abc", "8:cpu:/" + v1 + "/abc", "7:pids:/" + v1 + "/abc", "0::/" + v1 + "/abc"},
			[]string{"memory/" + v1, "cpu/" + v1, "pids/" + v1, "unified/" + v1},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.process(42, strings.Join(c.cgroups, "\n"), "pod")
			for _, dir := range c.want {
				h.cgroup(dir)
			}
			h.wantFound(c.want...)
		})
	}
}

func TestFindIsNotMisledBy(t *testing.T) {
	pod := "/kubepods/pod" + string(podUID)
	cases := map[string]string{
		"another pod":                           "0::/kubepods/pod" + string(otherUID) + "/abc",
		"a cgroup of another pod named like it": "0::/kubepods/pod" + string(otherUID) + "/abc/kubepods/pod" + string(podUID),
		"a cgroup named like it elsewhere":      "0::/user.slice/pod" + string(podUID),
		"a prefix of its uid":                   "0::" + pod + "0/abc",
		"a suffix of its uid":                   "0::/kubepods/podx" + string(podUID) + "/abc",
		"a path that climbs":                    "0::/../.." + pod + "/abc",
		"a line without a path":                 "0:" + pod,
		"a VM that an earlier attempt left":     "0::" + pod + "/vm",
	}
	for name, line := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.process(42, line, "pod")
			h.cgroup("kubepods/pod" + string(podUID))
			if _, err := h.host.Find(podUID); !errors.Is(err, ErrNotFound) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestFindRefuses(t *testing.T) {
	line := "0::/kubepods/pod" + string(podUID) + "/abc"
	v1 := "/kubepods/pod" + string(podUID)
	cases := map[string]struct {
		cgroups, netns string
		made           []string
		want           string
	}{
		"a pod on the node's network":         {line, "node", []string{v1}, "node's network"},
		"a pod whose cgroup cannot be seen":   {line, "pod", nil, "no cgroup folders"},
		"a pod that no memory limit binds":    {"2:cpu:" + v1 + "\n3:pids:" + v1, "pod", []string{"cpu" + v1, "pids" + v1}, "memory"},
		"a hybrid pod that only v2 would see": {line, "pod", []string{"unified-not/" + v1}, "no cgroup folders"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.process(42, c.cgroups, c.netns)
			for _, dir := range c.made {
				h.cgroup(dir)
			}
			if _, err := h.host.Find(podUID); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
	for _, uid := range []types.UID{"", "..", "a/b", "a*", "-a", types.UID(strings.Repeat("a", 65))} {
		if _, err := newHost(t).host.Find(uid); err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("uid %q: got %v", uid, err)
		}
	}
}

func TestPlaceMakesTheChildrenAndReleaseRemovesThem(t *testing.T) {
	h := newHost(t)
	v1 := "/kubepods/pod" + string(podUID)
	h.process(42, "9:memory:"+v1+"/c\n8:cpu:"+v1+"/c\n7:pids:"+v1+"/c", "pod")
	for _, controller := range []string{"memory", "cpu", "pids"} {
		h.cgroup(controller + v1)
	}
	pod := h.wantFound("memory"+v1, "cpu"+v1, "pids"+v1)
	for range 2 { // Once a boot.
		placement, err := pod.Place()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := h.relative(placement.Cgroups), []string{"memory" + v1 + "/vm", "cpu" + v1 + "/vm", "pids" + v1 + "/vm"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if _, err := os.Stat(placement.NetNS); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if err := pod.Release(); err != nil {
			t.Fatal(err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(h.host.CgroupRoots[1], "*", v1, "vm")); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	if _, err := pod.Place(); !errors.Is(err, errReleased) {
		t.Errorf("placed after release: %v", err)
	}
	if _, err := pod.FreePort(); !errors.Is(err, errReleased) {
		t.Errorf("port after release: %v", err)
	}
}

func TestReleaseAfterThePodWasDeletedIsNoError(t *testing.T) {
	h := newHost(t)
	h.process(42, "0::/kubepods/pod"+string(podUID)+"/c", "pod")
	h.cgroup("kubepods/pod" + string(podUID))
	pod := h.wantFound("kubepods/pod" + string(podUID))
	if err := os.RemoveAll(h.host.CgroupRoots[1]); err != nil {
		t.Fatal(err)
	}
	if err := pod.Release(); err != nil {
		t.Error(err)
	}
}

func TestACpusetChildInheritsWhatItIsBornWithout(t *testing.T) {
	dir := t.TempDir()
	child := filepath.Join(dir, vmCgroup)
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(child, 0o755); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(dir, "cpuset.cpus"), "0-1\n")
	write(filepath.Join(dir, "cpuset.mems"), "0\n")
	write(filepath.Join(child, "cpuset.cpus"), "\n")
	write(filepath.Join(child, "cpuset.mems"), "1\n")
	if _, err := makeChild(dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"cpuset.cpus": "0-1\n", "cpuset.mems": "1\n"} {
		if got, err := os.ReadFile(filepath.Join(child, name)); string(got) != want {
			t.Errorf("%s is %q (%v), want %q", name, got, err, want)
		}
	}
}

func FuzzPodPath(f *testing.F) {
	f.Add("/kubepods/pod" + string(podUID) + "/abc")
	f.Add("/kubepods.slice/kubepods-pod11111111_2222_3333_4444_555555555555.slice/x")
	f.Add("/../kubepods//pod")
	f.Fuzz(func(t *testing.T, path string) {
		m, err := newMatcher(podUID)
		if err != nil {
			t.Fatal(err)
		}
		pod, below, ok := m.podPath(path)
		if !ok {
			return
		}
		if filepath.Clean("/root/"+pod) == "/root" || !strings.HasPrefix(filepath.Clean("/root/"+pod), "/root/") {
			t.Errorf("%q leads out by %q", path, pod)
		}
		if !strings.HasSuffix(pod, "11111111-2222-3333-4444-555555555555") && !strings.HasSuffix(pod, "11111111_2222_3333_4444_555555555555.slice") {
			t.Errorf("%q is not the pod (below: %q)", pod, below)
		}
	})
}
