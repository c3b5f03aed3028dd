package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/ai-dossier/zt-operator/internal/netprobe"
)

const (
	// serveTime ends a server whose operator is gone.
	serveTime = 5 * time.Minute
	// dialTime is what a network plugin gets to enforce the policies of new pods.
	dialTime = 20 * time.Second
)

func probeServe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, serveTime)
	defer cancel()
	return netprobe.Serve(ctx, "")
}

func probeDial(ctx context.Context, server string) error {
	address, err := netip.ParseAddr(server)
	if err != nil || !address.Is4() {
		return fmt.Errorf("%q is not an IPv4 address", server)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	seen := netprobe.Watch(ctx, func(ctx context.Context, port int) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp4", net.JoinHostPort(address.String(), strconv.Itoa(port)))
	})
	if status := seen.ExitStatus(); status != netprobe.ExitEnforced {
		return exitStatus{status, seen.String()}
	}
	return nil
}
