package engine

import (
	"context"
	"net"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/nodeagent/channel"
)

// newRelay makes the connector of a provisioning VM: it dials the guest's one
// forward and the run's one mirror, and has no other destination.
func (m *machine) newRelay(port int, key []byte) *channel.Channel {
	return channel.New(channel.Config{
		DialGuest:  func(ctx context.Context) (net.Conn, error) { return m.attempt.Pod.Dial(ctx, port) },
		DialMirror: m.attempt.DialMirror,
		RelayKey:   key,
		Max:        brokerproto.MaxRelayConnections,
	})
}

// closeRelay closes the connector, if there is one, and records what it carried.
func (m *machine) closeRelay() {
	if m.relay == nil {
		return
	}
	stats := m.relay.Close()
	m.relay = nil
	m.update(func(t *v1alpha1.TreeStatus) {
		t.Relay = &v1alpha1.RelayStatus{
			Connections:   int64(stats.Connections),
			Failed:        int64(stats.Failed),
			Refused:       int64(stats.Refused),
			ToMirrorBytes: stats.ToMirrorBytes,
			ToGuestBytes:  stats.ToGuestBytes,
		}
	})
}
