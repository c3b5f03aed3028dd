package worker

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

func plain() *container {
	return &container{
		exec:  &brokerproto.Exec{Argv: []string{"npm", "test"}, Env: map[string]string{"CI": "1", "HOME": "/opt/ztfc"}},
		netns: "/run/netns", tmpMiB: 64,
	}
}

func TestSpecGivesTheWorkerNothing(t *testing.T) {
	s := plain().spec()
	if s.Process.User.UID != 1000 || s.Process.User.GID != 1000 || !s.Process.NoNewPrivileges || !s.Root.Readonly {
		t.Errorf("user %+v, no new privileges %v, read-only root %v", s.Process.User, s.Process.NoNewPrivileges, s.Root.Readonly)
	}
	for _, set := range []string{"bounding", "effective", "inheritable", "permitted", "ambient"} {
		if list, is := s.Process.Capabilities[set]; !is || list == nil || len(list) != 0 {
			t.Errorf("capabilities, %s: %v; must be there and empty", set, list)
		}
	}
	if got := strings.Join(s.Process.Args, " "); got != "/ztfc/zt-shim npm test" {
		t.Errorf("args %q", got)
	}
	if !slices.Contains(s.Process.Env, "HOME=/opt/ztfc") || !slices.IsSorted(s.Process.Env) {
		t.Errorf("environment %q", s.Process.Env)
	}
}

func TestSpecHasAllNamespacesAndTheGivenNetwork(t *testing.T) {
	want := map[string]string{"pid": "", "ipc": "", "uts": "", "mount": "", "cgroup": "", "network": "/run/netns"}
	for _, ns := range plain().spec().Linux.Namespaces {
		if path, is := want[ns.Type]; !is || path != ns.Path {
			t.Errorf("namespace %+v", ns)
		}
		delete(want, ns.Type)
	}
	if len(want) != 0 {
		t.Errorf("missing namespaces: %v", want)
	}
}

func TestMountsAreGuardedAndTheReportComesOnDemand(t *testing.T) {
	reporting := plain()
	reporting.report = "/run/report"
	for name, c := range map[string]*container{"plain": plain(), "reporting": reporting} {
		var writable []string
		for _, m := range c.spec().Mounts {
			if !slices.Contains(m.Options, "nosuid") {
				t.Errorf("%s: %s admits setuid programs", name, m.Destination)
			}
			if slices.Contains(m.Options, "rw") {
				writable = append(writable, m.Destination)
			}
		}
		want := []string{brokerproto.Workspace, brokerproto.StateDir}
		if c.report != "" {
			want = append(want, brokerproto.ReportDir)
		}
		if !slices.Equal(writable, want) {
			t.Errorf("%s: bound writable: %v, want %v", name, writable, want)
		}
	}
}

func TestTheFilterAllowsByNameAndRefusesTheRest(t *testing.T) {
	filter := allowlist()
	if filter.DefaultAction != errno {
		t.Fatalf("default action %s", filter.DefaultAction)
	}
	seen := map[string]bool{}
	for _, name := range plainSyscalls {
		if seen[name] {
			t.Errorf("%s is listed twice", name)
		}
		seen[name] = true
	}
	for _, name := range []string{
		"unshare", "setns", "clone", "clone3", "mount", "umount2", "pivot_root", "chroot", "bpf", "keyctl", "add_key",
		"request_key", "io_uring_setup", "userfaultfd", "perf_event_open", "init_module", "finit_module", "kexec_load",
		"reboot", "settimeofday", "clock_settime", "syslog", "open_by_handle_at", "socket", "personality", "iopl", "ioperm",
	} {
		if seen[name] {
			t.Errorf("%s is allowed with any arguments", name)
		}
	}
}

// An absent capability set or mask would mean the runtime's default.
func TestSpecEncodesEmptySetsAsEmptyArrays(t *testing.T) {
	data, err := json.Marshal(plain().spec())
	if err != nil {
		t.Fatal(err)
	}
	if text := string(data); strings.Contains(text, "null") || !strings.Contains(text, `"bounding":[]`) {
		t.Errorf("configuration %s", text)
	}
}
