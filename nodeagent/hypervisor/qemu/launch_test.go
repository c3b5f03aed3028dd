package qemu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ai-dossier/zt-operator/internal/testneeds"
	"github.com/ai-dossier/zt-operator/nodeagent/placement/podtest"
)

const testUID, testGID = 64123, 64124

// launched starts a program through the shim and ends it with the test.
func launched(t *testing.T, change func(*launchSpec), argv ...string) *process {
	t.Helper()
	p, err := tryLaunch(t, change, argv...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill() })
	return p
}

func tryLaunch(t *testing.T, change func(*launchSpec), argv ...string) (*process, error) {
	t.Helper()
	testneeds.Root(t)
	spec := launchSpec{Parent: os.Getpid(), Argv: argv, UID: testUID, GID: testGID, Dir: privateDir(t)}
	if change != nil {
		change(&spec)
	}
	return start(t.Context(), []string{"/proc/self/exe", LaunchCommand}, spec)
}

func privateDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o700), os.Chown(dir, testUID, testGID)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func status(t *testing.T, pid int) map[string]string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.Join(strings.Fields(value), " ")
	}
	return fields
}

func TestLaunchedProcessHasNoPrivilegeLeft(t *testing.T) {
	p := launched(t, nil, "/usr/bin/sleep", "1000")
	got := status(t, p.PID())
	none := "0000000000000000"
	want := map[string]string{
		"Name": "sleep", "Uid": "64123 64123 64123 64123", "Gid": "64124 64124 64124 64124", "Groups": "",
		"CapInh": none, "CapPrm": none, "CapEff": none, "CapBnd": none, "CapAmb": none,
		"NoNewPrivs": "1", "Threads": "1",
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %q, want %q", name, got[name], value)
		}
	}
	if session, err := unix.Getsid(p.PID()); err != nil || session != p.PID() {
		t.Errorf("session is %d (%v), want its own", session, err)
	}
}

func TestLaunchedProcessHasLimits(t *testing.T) {
	p := launched(t, nil, "/usr/bin/sleep", "1000")
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(limits)), " ")
	for _, want := range []string{"Max core file size 0 0 bytes", "Max open files 1024 1024 files"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	score, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", p.PID()))
	if err != nil || strings.TrimSpace(string(score)) != "500" {
		t.Errorf("OOM score is %q (%v)", score, err)
	}
}

func TestLaunchedProcessHasThreeFilesAndAScrubbedEnvironment(t *testing.T) {
	t.Setenv("ZT_CANARY", "leak")
	p := launched(t, nil, "/usr/bin/sleep", "1000")
	var files []os.DirEntry
	for range 200 { // The program's loader opens files of its own for a moment.
		files, _ = os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID()))
		if len(files) == 3 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if len(files) != 3 {
		t.Errorf("open files: %v", files)
	}
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID()))
	if err != nil || string(environment) != strings.Join(scrubbedEnvironment(), "\x00")+"\x00" {
		t.Errorf("environment is %q (%v)", environment, err)
	}
}

func TestLaunchedProcessSeesOnlyWhatItIsShown(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "token")
	shown := filepath.Join(t.TempDir(), "image")
	for _, path := range []string{secret, shown} {
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	script := `cd /; echo *; echo dev: $(echo /dev/*)
test -e ` + secret + ` && echo token seen
test -r ` + shown + ` || echo image not seen
(echo x > ` + shown + `) 2>/dev/null && echo image written
(echo x > /dev/x) 2>/dev/null && echo dev written
(echo x > /x) 2>/dev/null && echo root written
echo x > "$0/mine" || echo dir not writable`
	var dir string
	p := launched(t, func(s *launchSpec) {
		s.Visible = []string{shown}
		dir = s.Dir
		s.Argv = append(s.Argv, dir)
	}, "/bin/sh", "-c", script)
	<-p.Done()
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitN(p.Stderr(), "\n", 2)
	for _, folder := range strings.Fields(lines[0]) {
		if !strings.Contains(" bin dev etc lib lib32 lib64 libx32 sbin usr tmp ", " "+folder+" ") {
			t.Errorf("the root holds %s", folder)
		}
	}
	if want := "dev: /dev/null /dev/random /dev/urandom /dev/zero\n"; lines[1] != want {
		t.Errorf("got %q, want %q", lines[1], want)
	}
	if _, err := os.Stat(filepath.Join(dir, "mine")); err != nil {
		t.Error(err)
	}
}

func TestLaunchJoinsCgroupsAndNetworkNamespace(t *testing.T) {
	pod := podtest.New(t)
	netns := fmt.Sprintf("/proc/%d/ns/net", pod.HolderPID)
	var cgroups []string
	for _, dir := range pod.Cgroups {
		cgroups = append(cgroups, filepath.Join(dir, "container"))
	}
	p := launched(t, func(s *launchSpec) { s.NetNS, s.Cgroups = netns, cgroups }, "/usr/bin/sleep", "1000")
	want, _ := os.Readlink(netns)
	if got, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", p.PID())); got != want || err != nil {
		t.Errorf("network namespace is %s (%v), want %s", got, err, want)
	}
	for _, cgroup := range cgroups {
		procs, _ := os.ReadFile(filepath.Join(cgroup, "cgroup.procs"))
		if !slices.Contains(strings.Fields(string(procs)), fmt.Sprint(p.PID())) {
			t.Errorf("%s holds %q, want %d in it", cgroup, procs, p.PID())
		}
	}
}

func TestLaunchFailsWithTheReason(t *testing.T) {
	cases := map[string]struct {
		change func(*launchSpec)
		argv   string
		want   string
	}{
		"a program that is missing":          {nil, "/usr/bin/zt-no-such-program", "no such file"},
		"a program that is not absolute":     {nil, "sleep", "no program"},
		"a privileged uid":                   {func(s *launchSpec) { s.UID = 0 }, "/usr/bin/sleep", "privileged ids"},
		"a namespace that is gone":           {func(s *launchSpec) { s.NetNS = "/proc/0/ns/net" }, "/usr/bin/sleep", "join the network namespace"},
		"a file that is not a namespace":     {func(s *launchSpec) { s.NetNS = "/etc/hostname" }, "/usr/bin/sleep", "join the network namespace"},
		"a cgroup that is gone":              {func(s *launchSpec) { s.Cgroups = []string{"/sys/fs/cgroup/zt-none"} }, "/usr/bin/sleep", "join cgroups"},
		"a file to show that does not exist": {func(s *launchSpec) { s.Visible = []string{"/zt-none"} }, "/usr/bin/sleep", "zt-none"},
		"a parent that is not the parent":    {func(s *launchSpec) { s.Parent = 1 << 22 }, "/usr/bin/sleep", "parent has ended"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := tryLaunch(t, c.change, c.argv, "1000")
			if err == nil {
				_ = p.Kill()
				t.Fatal("started")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestLaunchedProcessDiesWithItsParent(t *testing.T) {
	testneeds.Root(t)
	// The parent between this test and the process is another run of this binary.
	parent := exec.Command("/proc/self/exe", parentCommand, privateDir(t))
	parent.Stderr = os.Stderr
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(output, &pid); err != nil {
		t.Fatal(err)
	}
	handle, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(handle)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	ready, err := unix.Poll([]unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}, 5000)
	if ready != 1 {
		t.Errorf("process %d lives on (%v)", pid, err)
		_ = unix.PidfdSendSignal(handle, unix.SIGKILL, nil, 0)
	}
}

func TestKillEndsAProcessThatIgnoresSIGTERM(t *testing.T) {
	p := launched(t, nil, "/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done")
	waitForOutput(t, p, "ready")
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if p.Err() == nil || !strings.Contains(p.Err().Error(), "killed") {
		t.Errorf("ended with %v", p.Err())
	}
	if err := p.Kill(); err != nil {
		t.Errorf("second kill: %v", err)
	}
}

func waitForOutput(t *testing.T, p *process, want string) {
	t.Helper()
	for range 500 {
		if strings.Contains(p.Stderr(), want) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no %q in %q", want, p.Stderr())
}

func TestProcessKeepsTheEndOfItsOutputAndItsStatus(t *testing.T) {
	p := launched(t, nil, "/bin/sh", "-c", "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; echo the end >&2; exit 3")
	<-p.Done()
	if text := p.Stderr(); len(text) > tailBytes || !strings.HasSuffix(text, "the end\n") {
		t.Errorf("%d bytes ending in %q", len(text), text[max(0, len(text)-20):])
	}
	var exit *exec.ExitError
	if !errors.As(p.Err(), &exit) || exit.ExitCode() != 3 {
		t.Errorf("ended with %v", p.Err())
	}
}

func TestStartIsBoundedByItsContext(t *testing.T) {
	testneeds.Root(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	// A shim that never reports.
	_, err := start(ctx, []string{"/usr/bin/sleep", "1000"}, launchSpec{})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestASpecShowsEachFileOnceAndTheBackingFileToo(t *testing.T) {
	overlay := newOverlay(t)
	c := verification()
	c.Dir, c.Disk, c.Socket = filepath.Dir(overlay.Disk), overlay.Disk, filepath.Join(filepath.Dir(overlay.Disk), "s")
	c.UID, c.GID, c.DiskBase, c.Tree = overlay.UID, overlay.UID, overlay.DiskBase, c.Root
	if c.UID == 0 {
		c.UID, c.GID = testUID, testGID
		if err := os.Chown(c.Disk, testUID, testGID); err != nil {
			t.Fatal(err)
		}
	}
	spec, err := New("/usr/bin/qemu-system-x86_64", "/opt/firmware").spec(c)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{c.DiskBase, "/img/initrd", "/img/root.erofs", "/img/vmlinux", "/opt/firmware"}
	slices.Sort(want)
	if !slices.Equal(spec.Visible, want) || spec.KVM || spec.Dir != c.Dir {
		t.Errorf("got %+v, want to show %q", spec, want)
	}
	if got := spec.Argv[:3]; !slices.Equal(got, []string{"/usr/bin/qemu-system-x86_64", "-L", "/opt/firmware"}) {
		t.Errorf("got %q", got)
	}
	c.UID = 0
	if _, err := New("/usr/bin/qemu-system-x86_64", "").spec(c); err == nil {
		t.Error("accepted uid 0")
	}
}

func TestSpecTravelsUnchanged(t *testing.T) {
	spec := launchSpec{Parent: 1, Argv: []string{"/a", "b c", "ü"}, UID: 2, GID: 3, NetNS: "/n", Cgroups: []string{"/c"}, Dir: "/d", Visible: []string{"/v"}, KVM: true}
	encoded, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	var back launchSpec
	if err := json.Unmarshal(encoded, &back); err != nil {
		t.Fatal(err)
	}
	again, _ := json.Marshal(back)
	if !bytes.Equal(encoded, again) || !strings.Contains(string(again), `"KVM":true`) {
		t.Errorf("got %s", again)
	}
}
