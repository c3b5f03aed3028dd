package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ai-dossier/zt-operator/guest/shim"
)

const (
	sigkill = int(syscall.SIGKILL)
	// containerID names the container to crun; there is one at a time.
	containerID = "worker"
	// logTail is how much of crun's log is told.
	logTail = 512
)

// run is one running container.
type run struct {
	ended <-chan syscall.WaitStatus

	readers [3]*os.File
	drained chan struct{}
	stdout  *capture
	stderr  *capture
	status  shim.Status
}

// start starts crun, inside the worker's control group from its first instruction.
func (r *Runner) start() (*run, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, fmt.Errorf("start container: %w", err)
	}
	defer null.Close()
	c := &run{drained: make(chan struct{})}
	writers, err := c.pipes()
	defer closeAll(writers[:])
	if err != nil {
		closeAll(c.readers[:])
		return nil, fmt.Errorf("start container: %w", err)
	}
	argv := []string{"crun", "--root", crunState, "--log", crunLog, "--cgroup-manager", "disabled",
		"run", "--preserve-fds", "1", "--bundle", bundle, containerID}
	_, c.ended, err = r.children.Spawn(crunBinary, argv, &syscall.ProcAttr{
		Dir:   "/",
		Env:   []string{"PATH=/usr/bin", "XDG_RUNTIME_DIR=/run"},
		Files: []uintptr{null.Fd(), writers[0].Fd(), writers[1].Fd(), writers[2].Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true, UseCgroupFD: true, CgroupFD: int(r.cgroup.dir.Fd())},
	})
	if err != nil {
		closeAll(c.readers[:])
		return nil, fmt.Errorf("start crun: %w", err)
	}
	go c.drain()
	return c, nil
}

// pipes makes the pipes of stdout, stderr and the shim's records.
func (c *run) pipes() (writers [3]*os.File, err error) {
	for i := range c.readers {
		if c.readers[i], writers[i], err = os.Pipe(); err != nil {
			return writers, err
		}
	}
	return writers, nil
}

// drain reads all three pipes to their ends, so that the worker never blocks on
// the agent.
func (c *run) drain() {
	defer close(c.drained)
	out, records := make(chan *capture), make(chan shim.Status)
	go func() { out <- drain(c.readers[0]) }()
	go func() {
		status := shim.ReadStatus(c.readers[2])
		_, _ = io.Copy(io.Discard, c.readers[2])
		records <- status
	}()
	c.stderr = drain(c.readers[1])
	c.stdout, c.status = <-out, <-records
}

// wait waits for the container's end, which it brings about when the time is up.
func (c *run) wait(limit time.Duration, group *cgroup) (timedOut bool) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.ended:
		return false
	case <-timer.C:
		// A failing kill is repeated by clear.
		_ = group.kill()
		return true
	}
}

// finish waits for the ends of the pipes, which come with the last process.
func (c *run) finish() {
	select {
	case <-c.drained:
	case <-time.After(killWait):
		// Unblocks the readers.
		closeAll(c.readers[:])
		<-c.drained
	}
	closeAll(c.readers[:])
}

// forget drops what crun keeps about the container; a killed crun could not.
func forget() {
	_ = os.RemoveAll(filepath.Join(crunState, containerID))
	_ = os.Remove(crunLog)
}

// crunSays returns the end of crun's log.
func crunSays() string {
	data, _ := os.ReadFile(crunLog)
	return string(data[max(0, len(data)-logTail):])
}

func isNotFound(err syscall.Errno) bool { return errors.Is(err, syscall.ENOENT) }

func closeAll(files []*os.File) {
	for _, file := range files {
		if file != nil {
			_ = file.Close()
		}
	}
}
