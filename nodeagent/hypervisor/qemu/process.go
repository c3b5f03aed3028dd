package qemu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Bounds on ending a process, and on what is kept of its output.
const (
	politeTimeout = 3 * time.Second
	killTimeout   = 10 * time.Second
	tailBytes     = 16 << 10
)

// process is one QEMU. It is only ever signalled through the handle (a pidfd)
// that its start returned, so a recycled pid is never hit.
type process struct {
	cmd     *exec.Cmd
	tail    *tail
	network bool
	done    chan struct{}
	// abandon kills the process however far its start has come.
	abandon context.CancelFunc

	mu  sync.Mutex
	err error
}

// start runs the shim and waits until it has become QEMU.
func start(ctx context.Context, shim []string, spec launchSpec) (*process, error) {
	encoded, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode launch: %w", err)
	}
	life, abandon := context.WithCancel(context.Background())
	p := &process{tail: &tail{limit: tailBytes}, done: make(chan struct{}), abandon: abandon}
	report := make(chan error, 1)
	go p.live(life, shim, encoded, report)
	select {
	case err = <-report:
	case <-ctx.Done():
		abandon()
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("start qemu: %w", err)
	}
	return p, nil
}

// live starts the shim, reports once whether it became QEMU, and waits for its
// end. PDEATHSIG fires when the thread that started the child ends, so this
// goroutine keeps its thread until the child is gone.
func (p *process) live(life context.Context, shim []string, spec []byte, report chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	defer p.abandon()
	status, err := p.run(life, shim, spec)
	if err != nil {
		report <- err
		return
	}
	if err := readStatus(status); err != nil {
		p.abandon()
		p.setErr(p.cmd.Wait())
		report <- fmt.Errorf("%w%s", err, p.tail.suffix())
		return
	}
	p.network = observeNetwork(p.cmd.Process.Pid)
	report <- nil
	p.setErr(p.cmd.Wait())
}

// run starts the shim and returns the pipe on which it reports a failure, and
// which execution closes.
func (p *process) run(life context.Context, shim []string, spec []byte) (*os.File, error) {
	specRead, specWrite, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("launch pipe: %w", err)
	}
	statusRead, statusWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("launch pipe: %w", err), specRead.Close(), specWrite.Close())
	}
	p.cmd = exec.CommandContext(life, shim[0], shim[1:]...)
	p.cmd.Env = scrubbedEnvironment()
	p.cmd.Dir = "/"
	p.cmd.Stdout, p.cmd.Stderr = p.tail, p.tail
	p.cmd.ExtraFiles = []*os.File{specRead, statusWrite}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	p.cmd.WaitDelay = time.Second
	err = p.cmd.Start()
	_ = specRead.Close()
	_ = statusWrite.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("launch shim: %w", err), specWrite.Close(), statusRead.Close())
	}
	// The shim reads all of it before anything else; a shim that died breaks the
	// pipe, and its status says why.
	_, _ = specWrite.Write(spec)
	_ = specWrite.Close()
	return statusRead, nil
}

// readStatus waits for the shim to become QEMU: the pipe then closes empty.
func readStatus(status *os.File) error {
	defer status.Close()
	text, err := io.ReadAll(io.LimitReader(status, 4<<10))
	switch {
	case err != nil:
		return fmt.Errorf("launch status: %w", err)
	case len(text) == 0:
		return errors.New("launch shim: died without a word")
	case string(text) != statusReady:
		return fmt.Errorf("launch shim: %s", strings.TrimSpace(strings.TrimPrefix(string(text), statusReady)))
	}
	return nil
}

// observeNetwork reads back what the process was really started with. The command
// line of another user's process is readable; if it is not, the answer is true.
func observeNetwork(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(line) == 0 {
		return true
	}
	return mentionsNetwork(strings.Split(string(bytes.TrimRight(line, "\x00")), "\x00"))
}

// mentionsNetwork reports any network backend or device in a command line, and
// any that lacks -nodefaults, without which QEMU adds a device of its own.
func mentionsNetwork(argv []string) bool {
	noDefaults := false
	for i, arg := range argv {
		option := "-" + strings.TrimLeft(arg, "-")
		switch {
		case !strings.HasPrefix(arg, "-"):
		case option == "-nodefaults":
			noDefaults = true
		case option == "-netdev", option == "-net", option == "-nic":
			return true
		case option == "-device" && i+1 < len(argv) && isNetworkDevice(argv[i+1]):
			return true
		}
	}
	return !noDefaults
}

func isNetworkDevice(device string) bool {
	driver, _, _ := strings.Cut(device, ",")
	return strings.Contains(driver, "net") || strings.Contains(driver, "e1000") || strings.Contains(driver, "rtl8139")
}

// PID implements hypervisor.Process.
func (p *process) PID() int { return p.cmd.Process.Pid }

// Done implements hypervisor.Process.
func (p *process) Done() <-chan struct{} { return p.done }

// HasNetwork implements hypervisor.Process.
func (p *process) HasNetwork() bool { return p.network }

// Stderr implements hypervisor.Process.
func (p *process) Stderr() string { return p.tail.String() }

// Err implements hypervisor.Process.
func (p *process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func (p *process) setErr(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.err = fmt.Errorf("qemu ended: %w", err)
	}
}

// Kill implements hypervisor.Process.
func (p *process) Kill() error {
	for _, step := range []struct {
		signal  os.Signal
		timeout time.Duration
	}{{syscall.SIGTERM, politeTimeout}, {syscall.SIGKILL, killTimeout}} {
		if err := p.cmd.Process.Signal(step.signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("kill qemu: %w", err)
		}
		select {
		case <-p.done:
			return nil
		case <-time.After(step.timeout):
		}
	}
	return fmt.Errorf("kill qemu: process %d is still there %s after SIGKILL", p.PID(), killTimeout)
}

func scrubbedEnvironment() []string {
	return []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"}
}
