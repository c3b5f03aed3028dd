package source

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ai-dossier/zt-operator/internal/testneeds"
)

// TestMain lets the test binary be its own child, as the node agent is. A request
// for the disk "probe" makes the child report what it can do instead of working;
// one for "sleep" leaves it and a process of its own hanging.
func TestMain(m *testing.M) {
	if len(os.Args) < 3 || os.Args[1] != ChildArgument {
		os.Exit(m.Run())
	}
	if os.Args[2] != workStage {
		ChildMain()
	}
	in := bufio.NewReader(os.Stdin)
	line, _ := in.ReadBytes('\n')
	var r request
	_ = json.Unmarshal(line, &r)
	switch r.Disk {
	case "probe":
		_ = json.NewEncoder(os.Stdout).Encode(probe())
	case "sleep":
		_ = exec.Command("/usr/bin/sleep", "600").Start()
		time.Sleep(10 * time.Minute)
	case "flood":
		_, _ = io.Copy(os.Stdout, zeros{})
	default:
		if err := work(io.MultiReader(bytes.NewReader(line), in), os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(0)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// powers is what a child found it can do.
type powers struct {
	UID, GID, PID int
	Groups        []int
	Capabilities  [2]uint32
	NoNewPrivs    int
	Root, Devices []string
	Interfaces    []string
	Environment   []string
	Writable      []string
	DialError     string
	Core, Files   uint64
	Memory, CPU   uint64
	SetuidError   string
	MountError    string
}

func probe() powers {
	p := powers{UID: os.Getuid(), GID: os.Getgid(), PID: os.Getpid(), Environment: os.Environ()}
	p.Groups, _ = os.Getgroups()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	_ = unix.Capget(&header, &data[0])
	p.Capabilities = [2]uint32{data[0].Permitted | data[0].Effective, data[1].Permitted | data[1].Effective}
	p.NoNewPrivs, _ = unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	p.Root, p.Devices = namesIn("/"), namesIn("/dev")
	interfaces, _ := net.Interfaces()
	for _, i := range interfaces {
		if i.Flags&net.FlagUp != 0 {
			p.Interfaces = append(p.Interfaces, i.Name)
		}
	}
	for _, dir := range []string{"/", "/usr", "/dev", "/work", "/usr/bin", "/child"} {
		if unix.Access(dir, unix.W_OK) == nil {
			p.Writable = append(p.Writable, dir)
		}
	}
	if _, err := net.DialTimeout("tcp", "127.0.0.1:22", time.Second); err != nil {
		p.DialError = err.Error()
	}
	limit := func(resource int) uint64 {
		var l unix.Rlimit
		_ = unix.Getrlimit(resource, &l)
		return l.Max
	}
	p.Core, p.Files, p.Memory, p.CPU = limit(unix.RLIMIT_CORE), limit(unix.RLIMIT_NOFILE), limit(unix.RLIMIT_AS), limit(unix.RLIMIT_CPU)
	p.SetuidError = fmt.Sprint(unix.Setuid(0))
	p.MountError = fmt.Sprint(unix.Mount("none", "/work", "tmpfs", 0, ""))
	return p
}

func namesIn(dir string) []string {
	var names []string
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestTheChildHasNothing(t *testing.T) {
	t.Setenv("ZT_SECRET", "canary")
	box := newBox(t)
	output, err := box.child(t.Context(), time.Minute, request{Disk: "probe"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var p powers
	if err := json.Unmarshal(output, &p); err != nil {
		t.Fatal(err)
	}
	if p.UID != testUID || p.GID != testUID || len(p.Groups) != 0 || p.Capabilities != [2]uint32{} || p.NoNewPrivs != 1 {
		t.Errorf("identity %+v", p)
	}
	if p.PID != 1 {
		t.Errorf("pid %d: it shares a process namespace", p.PID)
	}
	for _, name := range p.Root {
		if !slices.Contains([]string{"bin", "child", "dev", "lib", "lib64", "sbin", "usr", "work"}, name) {
			t.Errorf("it sees /%s", name)
		}
	}
	if !slices.Equal(p.Devices, []string{"null", "urandom"}) {
		t.Errorf("devices %q", p.Devices)
	}
	if len(p.Interfaces) != 0 || !strings.Contains(p.DialError, "unreachable") {
		t.Errorf("network: up %q, dial %q", p.Interfaces, p.DialError)
	}
	if !slices.Equal(p.Writable, []string{"/work"}) {
		t.Errorf("it may write %q", p.Writable)
	}
	for _, variable := range p.Environment {
		if strings.Contains(variable, "canary") {
			t.Error("it has the agent's environment")
		}
	}
	if p.Core != 0 || p.Files != limitFiles || p.Memory != limitMemory || p.CPU != limitCPU {
		t.Errorf("limits %+v", p)
	}
	if p.SetuidError == "<nil>" || p.MountError == "<nil>" {
		t.Errorf("setuid: %s, mount: %s", p.SetuidError, p.MountError)
	}
}

func newBox(t *testing.T) *sandbox {
	t.Helper()
	testneeds.Root(t)
	dir := t.TempDir()
	box, err := (&Reader{}).newSandbox(dir, testUID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.remove(); err != nil {
			t.Error(err)
		}
		assertNothingLeft(t, dir)
	})
	return box
}

func TestAHangingChildIsKilledWithAllItStarted(t *testing.T) {
	box := newBox(t) // whose clean-up looks for processes
	start := time.Now()
	if _, err := box.child(t.Context(), 300*time.Millisecond, request{Disk: "sleep"}, nil); err == nil {
		t.Error("it answered")
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestAnEndlessAnswerIsCutOff(t *testing.T) {
	_, err := newBox(t).child(t.Context(), time.Minute, request{Disk: "flood"}, nil)
	if err == nil || !strings.Contains(err.Error(), "longer") {
		t.Errorf("got %v", err)
	}
}

func TestALinkInPlaceOfTheWorkFolderIsNoWayOut(t *testing.T) {
	box := newBox(t)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	// A child that left a link under the name of the next disk.
	if err := os.Symlink(outside, filepath.Join(box.dir, workName, diskName)); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(t.TempDir(), "disk")
	if err := box.collect(target); err == nil {
		t.Error("the link was delivered")
	}
	if content, err := os.ReadFile(outside); err != nil || string(content) != "secret" {
		t.Errorf("outside is %q, %v", content, err)
	}
}
