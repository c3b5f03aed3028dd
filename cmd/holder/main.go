// Command holder is the only process of a vm pod's container. It does nothing: the
// pod exists so that the scheduler, the cgroup and the network namespace account
// for the VMs that the node agent starts inside it.
package main

import (
	"context"
	"os/signal"
	"syscall"
)

func main() {
	// PID 1 gets no default signal handling from the kernel: without this the pod
	// would linger until the kubelet kills it.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	<-ctx.Done()
}
