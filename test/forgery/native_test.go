package forgery

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor/fake"
)

// native executes what a guest is asked to on this machine: a folder a VM. It is no
// sandbox; the fixtures are this repository's own.
type native struct {
	t     *testing.T
	kit   kit
	root  string
	trees map[string]files // by the name of the VM's folder

	mu sync.Mutex
}

func (n *native) guest() fake.Guest {
	return fake.Guest{Exec: n.exec, Get: n.get, Put: n.put}
}

// workspace is the VM's workspace, filled when it is first asked for.
func (n *native) workspace(c hypervisor.Config) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	vm := filepath.Base(c.Dir)
	dir := filepath.Join(n.root, vm, "workspace")
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if installed := n.kit.installed(n.t); installed != "" {
		copyAll(n.t, installed, filepath.Join(n.root, vm))
	}
	for name, content := range n.trees[vm] {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			n.t.Error(err)
		}
	}
	return dir
}

const timeLimit = time.Minute

// trustedReplies has what the trusted trees answered, which is the same for every
// candidate.
var trustedReplies sync.Map

func (n *native) exec(c hypervisor.Config, e brokerproto.Exec) fake.Reply {
	vm := filepath.Base(c.Dir)
	switch {
	case !e.Report:
		return fake.Reply{} // nothing to install, and no install scripts
	case vm == "c":
		return n.run(c, e)
	}
	key := n.kit.name + vm + strings.Join(e.Argv, " ")
	if reply, ok := trustedReplies.Load(key); ok {
		return reply.(fake.Reply)
	}
	reply := n.run(c, e)
	trustedReplies.Store(key, reply)
	return reply
}

func (n *native) run(c hypervisor.Config, e brokerproto.Exec) fake.Reply {
	dir := n.workspace(c)
	report := filepath.Join(n.root, filepath.Base(c.Dir), "report")
	state := filepath.Join(n.root, filepath.Base(c.Dir), "state")
	if err := errors.Join(os.RemoveAll(report), os.MkdirAll(report, 0o755), os.MkdirAll(state, 0o755)); err != nil {
		n.t.Error(err)
	}
	here := strings.NewReplacer(append(slices.Clone(n.kit.instead), brokerproto.ReportDir, report, brokerproto.StateDir, state)...)
	ctx, cancel := context.WithTimeout(context.Background(), timeLimit)
	defer cancel()
	argv := make([]string, len(e.Argv))
	for i, argument := range e.Argv {
		argv[i] = here.Replace(argument)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	for name, value := range e.Env {
		cmd.Env = append(cmd.Env, name+"="+here.Replace(value))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	endAll(dir)
	result := brokerproto.ExecResult{Stdout: out.Bytes()[:min(out.Len(), 100_000)]}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		result.ExitCode = exit.ExitCode()
	case errors.As(err, &exit):
		result.ExitCode, result.Signal = -1, int(exit.Sys().(syscall.WaitStatus).Signal())
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		n.t.Errorf("%q: %v", e.Argv, err)
	}
	if e.Report {
		result.Report = readReport(filepath.Join(report, filepath.Base(brokerproto.ReportFile)))
		result.Report.Data = bytes.ReplaceAll(result.Report.Data, []byte(dir), []byte(brokerproto.Workspace))
	}
	return fake.Reply{Result: result}
}

// endAll ends what a command left behind, as the end of its container does: every
// process that works in the workspace.
func endAll(dir string) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if at, err := os.Readlink(link); err == nil && strings.HasPrefix(at, dir) {
			end(filepath.Base(filepath.Dir(link)))
		}
	}
}

func end(pid string) {
	number := 0
	for _, digit := range pid {
		number = number*10 + int(digit-'0')
	}
	if number == os.Getpid() || number < 2 {
		return
	}
	_ = syscall.Kill(number, syscall.SIGKILL)
	for range 100 {
		if _, err := os.Stat("/proc/" + pid + "/exe"); err != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func readReport(path string) *brokerproto.Report {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &brokerproto.Report{Error: brokerproto.ReportAbsent}
	case err != nil:
		return &brokerproto.Report{Error: brokerproto.ReportUnreadable}
	case len(data) > brokerproto.MaxReport:
		return &brokerproto.Report{Error: brokerproto.ReportTooLarge}
	}
	return &brokerproto.Report{Data: data}
}

func (n *native) get(c hypervisor.Config, get brokerproto.Get) fake.Reply {
	path := filepath.Join(n.workspace(c), get.Path)
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return fake.Reply{Error: brokerproto.ErrorNotFound}
	case !info.Mode().IsRegular():
		return fake.Reply{Error: brokerproto.ErrorNotRegular}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fake.Reply{Error: brokerproto.ErrorIO}
	}
	return fake.Reply{Data: data}
}

func (n *native) put(c hypervisor.Config, put brokerproto.Put) fake.Reply {
	if err := os.WriteFile(filepath.Join(n.workspace(c), put.Path), put.Data, 0o644); err != nil {
		return fake.Reply{Error: brokerproto.ErrorIO}
	}
	return fake.Reply{}
}
