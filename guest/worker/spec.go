package worker

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ai-dossier/zt-operator/guest/boot"
	"github.com/ai-dossier/zt-operator/guest/shim"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

// The members of an OCI runtime configuration that this package sets.
type (
	ociSpec struct {
		Version string     `json:"ociVersion"`
		Process ociProcess `json:"process"`
		Root    ociRoot    `json:"root"`
		Host    string     `json:"hostname"`
		Mounts  []ociMount `json:"mounts"`
		Linux   ociLinux   `json:"linux"`
	}
	ociProcess struct {
		User            ociUser             `json:"user"`
		Args            []string            `json:"args"`
		Env             []string            `json:"env"`
		Cwd             string              `json:"cwd"`
		Capabilities    map[string][]string `json:"capabilities"`
		Rlimits         []ociRlimit         `json:"rlimits"`
		NoNewPrivileges bool                `json:"noNewPrivileges"`
		OOMScoreAdj     int                 `json:"oomScoreAdj"`
	}
	ociUser struct {
		UID   int `json:"uid"`
		GID   int `json:"gid"`
		Umask int `json:"umask"`
	}
	ociRlimit struct {
		Type string `json:"type"`
		Hard uint64 `json:"hard"`
		Soft uint64 `json:"soft"`
	}
	ociRoot struct {
		Path     string `json:"path"`
		Readonly bool   `json:"readonly"`
	}
	ociMount struct {
		Destination string   `json:"destination"`
		Type        string   `json:"type"`
		Source      string   `json:"source"`
		Options     []string `json:"options,omitempty"`
	}
	ociLinux struct {
		Namespaces    []ociNamespace `json:"namespaces"`
		MaskedPaths   []string       `json:"maskedPaths"`
		ReadonlyPaths []string       `json:"readonlyPaths"`
		Seccomp       *seccomp       `json:"seccomp"`
	}
	ociNamespace struct {
		Type string `json:"type"`
		Path string `json:"path,omitempty"`
	}
)

// baseEnv is the environment of every command. HOME is the container's own tmpfs:
// what a command should find again belongs in StateDir.
var baseEnv = map[string]string{
	"PATH":   "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME":   "/tmp",
	"TMPDIR": "/tmp",
	"LANG":   "C.UTF-8",
	"TERM":   "dumb",
}

// container is what differs between the containers of a VM.
type container struct {
	exec   *brokerproto.Exec
	netns  string
	report string
	tmpMiB int
}

// spec returns the container's whole configuration.
func (c *container) spec() *ociSpec {
	none := []string{}
	return &ociSpec{
		Version: "1.0.2",
		Process: ociProcess{
			User: ociUser{UID: boot.WorkerID, GID: boot.WorkerID, Umask: 0o022},
			Args: append([]string{shimPath}, c.exec.Argv...),
			Env:  environment(c.exec.Env),
			Cwd:  brokerproto.Workspace,
			Capabilities: map[string][]string{
				"bounding": none, "effective": none, "inheritable": none, "permitted": none, "ambient": none,
			},
			Rlimits: []ociRlimit{
				{"RLIMIT_CORE", 0, 0},
				{"RLIMIT_NOFILE", 65536, 65536},
			},
			NoNewPrivileges: true,
			OOMScoreAdj:     1000,
		},
		Root:   ociRoot{Path: boot.WorkerRoot, Readonly: true},
		Host:   "worker",
		Mounts: c.mounts(),
		Linux: ociLinux{
			Namespaces: []ociNamespace{
				{Type: "pid"}, {Type: "ipc"}, {Type: "uts"}, {Type: "mount"}, {Type: "cgroup"},
				{Type: "network", Path: c.netns},
			},
			MaskedPaths: []string{
				"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
				"/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats", "/sys",
			},
			ReadonlyPaths: []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
			Seccomp:       allowlist(),
		},
	}
}

// ztFolder holds the shim and the report folder. It is a tmpfs, so that neither
// needs a mount point in the worker's image.
const ztFolder = "/ztfc"

// shimPath is the shim's path; its last element is argv[0], by which the agent's
// binary knows what it is.
const shimPath = ztFolder + "/" + shim.Name

func (c *container) mounts() []ociMount {
	tmp := fmt.Sprintf("size=%dm", c.tmpMiB)
	mounts := []ociMount{
		{"/proc", "proc", "proc", []string{"nosuid", "noexec", "nodev"}},
		{"/dev", "tmpfs", "tmpfs", []string{"nosuid", "noexec", "mode=755", "size=64k", "nr_inodes=64"}},
		{"/dev/pts", "devpts", "devpts", []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}},
		{"/dev/shm", "tmpfs", "tmpfs", []string{"nosuid", "noexec", "nodev", "mode=1777", "size=64m"}},
		{"/tmp", "tmpfs", "tmpfs", []string{"nosuid", "nodev", "mode=1777", tmp}},
		{ztFolder, "tmpfs", "tmpfs", []string{"nosuid", "nodev", "mode=755", "size=64k", "nr_inodes=16"}},
		{shimPath, "bind", agentBinary, []string{"bind", "ro", "nosuid", "nodev"}},
		{brokerproto.Workspace, "bind", boot.Workspace, []string{"bind", "rw", "nosuid", "nodev"}},
		{brokerproto.StateDir, "bind", boot.State, []string{"bind", "rw", "nosuid", "nodev"}},
	}
	if c.report != "" {
		mounts = append(mounts, ociMount{brokerproto.ReportDir, "bind", c.report, []string{"bind", "rw", "nosuid", "nodev", "noexec"}})
	}
	return mounts
}

// environment returns the base environment with the command's own over it, sorted.
func environment(own map[string]string) []string {
	merged := maps.Clone(baseEnv)
	maps.Copy(merged, own)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		list = append(list, name+"="+merged[name])
	}
	return list
}
