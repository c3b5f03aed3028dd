// Command holder is what the project's own containers in the run namespace run. By
// itself it does nothing: a vm pod exists so that the scheduler, the cgroup and the
// network namespace account for the VMs that the node agent starts inside it. Under
// the name of a subcommand it is the auditor beside a package mirror, or one end of
// the probe for NetworkPolicies.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// PID 1 gets no default signal handling from the kernel: without this the pod
	// would linger until the kubelet kills it.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	os.Exit(end(ctx, run(ctx, os.Args[1:])))
}

// terminated is what a shell says of a process that SIGTERM ended. It is not 0 because
// a kubelet calls a pod whose containers all end with 0 a success, and forgets that it
// evicted it and why.
const terminated = 128 + int(syscall.SIGTERM)

// end says why the process ends, if it is to be said, and returns its exit status.
func end(ctx context.Context, err error) int {
	var status exitStatus
	switch {
	case errors.As(err, &status):
		fmt.Fprintln(os.Stderr, status.message)
		return status.code
	case err != nil:
		fmt.Fprintln(os.Stderr, "holder:", err)
		return 1
	case ctx.Err() != nil:
		return terminated
	}
	return 0
}

// exitStatus ends the process with a status that somebody reads.
type exitStatus struct {
	code    int
	message string
}

func (e exitStatus) Error() string { return e.message }

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		<-ctx.Done()
		return nil
	}
	switch command := args[0]; {
	case command == "cache-audit" && len(args) == 2:
		return cacheAudit(ctx, args[1])
	case command == "probe-serve" && len(args) == 1:
		return probeServe(ctx)
	case command == "probe-dial" && len(args) > 1:
		return probeDial(ctx, args[1:])
	}
	return fmt.Errorf("usage: holder [cache-audit STORAGE | probe-serve | probe-dial NODE=ADDRESS…], got %q", args)
}
