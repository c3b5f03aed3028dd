package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
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

// probeDial looks at servers, each given as NODE=ADDRESS.
func probeDial(ctx context.Context, servers []string) error {
	targets := make([]netprobe.Target, 0, len(servers))
	for _, server := range servers {
		node, text, _ := strings.Cut(server, "=")
		address, err := netip.ParseAddr(text)
		if err != nil || !address.Is4() || node == "" {
			return fmt.Errorf("%q is not a node and its IPv4 address", server)
		}
		targets = append(targets, netprobe.Target{Name: node, Dial: func(ctx context.Context, port int) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp4", net.JoinHostPort(address.String(), strconv.Itoa(port)))
		}})
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	if status, said := netprobe.WatchAll(ctx, targets); status != netprobe.ExitEnforced {
		return exitStatus{status, said}
	}
	return nil
}
