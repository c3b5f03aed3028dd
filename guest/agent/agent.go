package agent

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/ai-dossier/zt-operator/guest/boot"
	"github.com/ai-dossier/zt-operator/guest/reaper"
	"github.com/ai-dossier/zt-operator/guest/relay"
	"github.com/ai-dossier/zt-operator/guest/server"
	"github.com/ai-dossier/zt-operator/guest/worker"
	"github.com/ai-dossier/zt-operator/guest/workspace"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

// Main runs the VM. It powers the machine off whatever happens: without its broker
// a VM is of no use, and the host notices an ended QEMU at once.
func Main() {
	if err := run(); err != nil {
		logError(err)
	}
	boot.PowerOff()
}

func run() error {
	children := reaper.Start()
	vm, err := boot.Start()
	if err != nil {
		return err
	}
	// No hello before the boot is over: the host repeats a boot that gives none, and
	// only as long as nothing else can have happened in it.
	booted := vm.Wait()
	in, out := brokerproto.NewReader(vm.Port), brokerproto.NewWriter(vm.Port)
	welcome, err := greet(vm, in, out)
	if err != nil {
		return errors.Join(booted, err)
	}
	if booted != nil {
		return decline(in, out, booted)
	}
	commands, files, err := prepare(vm, welcome, children, out)
	if err != nil {
		return decline(in, out, err)
	}
	defer files.Close()
	s := &server.Server{
		Phase: vm.Identity.Phase, Commands: commands, Files: files,
		Owner: boot.WorkerID, Log: logError,
	}
	return s.Serve(in, out)
}

// greet says hello and obeys the welcome.
func greet(vm *boot.VM, in *brokerproto.Reader, out *brokerproto.Writer) (*brokerproto.Welcome, error) {
	hello := brokerproto.Hello{
		Protocol: brokerproto.Protocol,
		Scope:    vm.Identity.Scope, Phase: vm.Identity.Phase, Nonce: vm.Identity.Nonce,
	}
	if err := out.Write(hello); err != nil {
		return nil, err
	}
	var welcome brokerproto.Welcome
	if err := in.Read(&welcome); err != nil {
		return nil, fmt.Errorf("read welcome: %w", err)
	}
	if err := welcome.Validate(vm.Identity.Phase); err != nil {
		return nil, fmt.Errorf("welcome: %w", err)
	}
	return &welcome, boot.Apply(&welcome)
}

// prepare makes ready what requests need.
func prepare(vm *boot.VM, welcome *brokerproto.Welcome, children *reaper.Reaper, out *brokerproto.Writer) (*worker.Runner, *workspace.Folder, error) {
	var carrier worker.Relay
	if vm.Identity.Phase == brokerproto.PhaseProvisioning {
		started, err := startRelay(welcome.RelayKey, out)
		if err != nil {
			return nil, nil, &boot.StageError{Stage: "relay", Err: err}
		}
		carrier = started
	}
	commands, err := worker.New(children, carrier, welcome.Worker)
	if err != nil {
		return nil, nil, &boot.StageError{Stage: "worker", Err: err}
	}
	files, err := workspace.Open(boot.Workspace)
	if err != nil {
		return nil, nil, &boot.StageError{Stage: "workspace", Err: err}
	}
	return commands, files, nil
}

// decline tells the host at which stage the boot failed.
func decline(in *brokerproto.Reader, out *brokerproto.Writer, err error) error {
	stage := "failed"
	var failed *boot.StageError
	if errors.As(err, &failed) {
		stage = failed.Stage
	}
	return errors.Join(err, server.Decline(in, out, brokerproto.ErrorBootPrefix+stage))
}

// startRelay makes the guest reachable for the host; it is only called in
// provisioning, where there is a network card.
func startRelay(key []byte, out *brokerproto.Writer) (*relay.Relay, error) {
	if err := relay.NICUp(); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp4", fmt.Sprintf(":%d", brokerproto.RelayGuestPort))
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	r := relay.New(key, relay.HostAddress, func() {
		// A broken port ends the VM where requests are read.
		_ = out.Write(brokerproto.Message{Dial: 1})
	})
	go r.Listen(listener)
	return r, nil
}

// logError writes to the kernel's log, which only a VM booted for diagnosis shows.
func logError(err error) {
	log, openErr := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0)
	if openErr != nil {
		return
	}
	defer log.Close()
	fmt.Fprintf(log, "<3>guest-agent: %.900s\n", err)
}
