package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/ai-dossier/zt-operator/guest/boot"
	"github.com/ai-dossier/zt-operator/guest/reaper"
	"github.com/ai-dossier/zt-operator/guest/shim"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

const (
	agentBinary = "/usr/lib/zt/guest-agent"
	crunBinary  = "/usr/bin/crun"

	scratch   = "/run/zt/worker"
	bundle    = scratch + "/bundle"
	crunState = scratch + "/crun"
	crunLog   = scratch + "/crun.log"
	netnsPath = scratch + "/netns"
	reportDir = scratch + "/report"

	// killWait bounds the end of a killed container.
	killWait = 30 * time.Second
)

// Errors of Run: the command was not run.
var (
	// ErrNotFound: the container has no such command.
	ErrNotFound = errors.New("command not found")
	// ErrContainer: the container could not be made, or would not end.
	ErrContainer = errors.New("container failed")
)

// Relay carries a command's connections to the package mirror.
type Relay interface {
	// Serve takes over a listener inside the worker's network. The function it
	// returns ends every connection and returns when all are ended.
	Serve(net.Listener) (stop func())
}

// Runner runs commands, one at a time.
type Runner struct {
	children *reaper.Reaper
	relay    Relay
	limits   brokerproto.WorkerLimits
	cgroup   *cgroup
}

// New prepares the worker's control group. relay is nil outside provisioning.
func New(children *reaper.Reaper, relay Relay, limits brokerproto.WorkerLimits) (*Runner, error) {
	for _, dir := range []string{bundle, crunState} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("worker: %w", err)
		}
	}
	group, err := newCgroup(boot.CgroupRoot, limits)
	if err != nil {
		return nil, err
	}
	return &Runner{children: children, relay: relay, limits: limits, cgroup: group}, nil
}

// Run runs one command to its end and returns when nothing of it is left.
func (r *Runner) Run(exec *brokerproto.Exec) (*brokerproto.ExecResult, error) {
	c := &container{exec: exec, tmpMiB: r.limits.TmpMiB}
	network, err := r.connect(exec.Network)
	if err != nil {
		return nil, errors.Join(ErrContainer, err)
	}
	defer network.end()
	c.netns = network.path
	if exec.Report {
		if err := newReportFolder(reportDir); err != nil {
			return nil, errors.Join(ErrContainer, err)
		}
		defer func() { _ = closeReportFolder(reportDir) }()
		c.report = reportDir
	}
	if err := writeSpec(c.spec()); err != nil {
		return nil, errors.Join(ErrContainer, err)
	}
	result, err := r.contain(exec)
	if err == nil && exec.Report {
		result.Report = readReport(reportDir)
	}
	return result, err
}

// network is a command's namespace and, with the package proxy, the relay in it.
type network struct {
	*netns
	stop func()
}

func (r *Runner) connect(kind brokerproto.Network) (*network, error) {
	port := 0
	if kind == brokerproto.NetworkPackageProxy {
		port = brokerproto.RelayWorkerPort
	}
	ns, err := newNetns(netnsPath, port)
	if err != nil {
		return nil, err
	}
	n := &network{netns: ns, stop: func() {}}
	if ns.listener != nil {
		n.stop = r.relay.Serve(ns.listener)
	}
	return n, nil
}

func (n *network) end() {
	n.stop()
	_ = n.close()
}

func writeSpec(spec *ociSpec) error {
	data, err := json.Marshal(spec)
	if err != nil {
		return fmt.Errorf("container configuration: %w", err)
	}
	if err := os.WriteFile(filepath.Join(bundle, "config.json"), data, 0o600); err != nil {
		return fmt.Errorf("container configuration: %w", err)
	}
	return nil
}

// contain runs the container and returns when its control group is empty.
func (r *Runner) contain(exec *brokerproto.Exec) (*brokerproto.ExecResult, error) {
	killed := r.cgroup.oomKills()
	run, err := r.start()
	if err != nil {
		return nil, errors.Join(ErrContainer, err)
	}
	timedOut := run.wait(time.Duration(exec.TimeoutMillis)*time.Millisecond, r.cgroup)
	if err := r.cgroup.clear(killWait); err != nil {
		return nil, errors.Join(ErrContainer, err)
	}
	run.finish()
	defer forget()
	result := &brokerproto.ExecResult{
		TimedOut:  timedOut,
		OOMKilled: r.cgroup.oomKills() > killed,
		Stdout:    run.stdout.bytes(), StdoutBytes: run.stdout.total,
		Stderr: run.stderr.bytes(), StderrBytes: run.stderr.total,
	}
	return result, ending(result, run.status)
}

// ending fills in how the command ended. A command that was killed together with
// its shim was killed by SIGKILL: nothing else ends the shim.
func ending(result *brokerproto.ExecResult, status shim.Status) error {
	switch {
	case status.Ended && status.Wait.Exited():
		result.ExitCode = status.Wait.ExitStatus()
	case status.Ended:
		result.ExitCode, result.Signal = -1, int(status.Wait.Signal())
	case status.Started, result.TimedOut, result.OOMKilled:
		result.ExitCode, result.Signal = -1, sigkill
	case isNotFound(status.Failed):
		return ErrNotFound
	default:
		return fmt.Errorf("%w: %w: %s", ErrContainer, status.Failed, crunSays())
	}
	return nil
}
