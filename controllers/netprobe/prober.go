package netprobe

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

const (
	// validity of a proof. A plugin that stops working is found out after at most
	// this time.
	validity = time.Hour
	// interval between two proofs leaves room for failed attempts at the second.
	interval = 30 * time.Minute
	// retry after a probe that could not be made, or that saw no enforcement: an
	// administrator may be at it.
	retry = 15 * time.Second
	// probeBound covers the pull of a small image by the nodes of one probe;
	// serversBound is what its servers get of that.
	probeBound   = 2 * time.Minute
	serversBound = time.Minute
	// cleanupBound is what deleting takes, pods that stop included.
	cleanupBound = 30 * time.Second
	poll         = 200 * time.Millisecond
)

// State is what is known of the cluster's enforcement.
type State struct {
	// Enforced: it was seen, and the proof has not expired.
	Enforced bool
	// Refuted: a connection went through that a policy denies.
	Refuted bool
	// Message says what was seen, or why nothing could be.
	Message string
}

// Prober makes the probes and keeps their result. It is safe for concurrent use.
type Prober struct {
	Client client.Client
	// Live reads from the API server: the probe outruns a cache.
	Live  client.Reader
	Clock clock.WithTicker
	Log   logr.Logger

	RunNamespace string
	// Image of the holder, which both pods run.
	Image string

	// last is the last node of the last probe, startBound the test's own; both Start's
	// alone.
	last       string
	startBound time.Duration

	mu      sync.Mutex
	proven  time.Time
	refuted bool
	where   string
	message string
	changed chan event.GenericEvent
}

// Changed receives after a state that differs from the one before it. It is to be
// called before Start.
func (p *Prober) Changed() <-chan event.GenericEvent {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed == nil {
		p.changed = make(chan event.GenericEvent, 16)
	}
	return p.changed
}

// State returns what is known now.
func (p *Prober) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.refuted:
		return State{Refuted: true, Message: p.message}
	case !p.proven.IsZero() && p.Clock.Since(p.proven) < validity:
		return State{Enforced: true, Message: "connections that NetworkPolicies deny failed, beside those that they allow: " + p.where}
	case p.message != "":
		return State{Message: p.message}
	}
	return State{Message: "the probe for NetworkPolicies has not ended yet"}
}

// Start probes until the context ends. It runs in the leader only.
func (p *Prober) Start(ctx context.Context) error {
	for {
		wait := p.once(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-p.Clock.After(wait):
		}
	}
}

// once makes one probe and says when to make the next.
func (p *Prober) once(ctx context.Context) time.Duration {
	start := p.Clock.Now()
	probing, cancel := context.WithTimeout(ctx, probeBound)
	enforced, seen, err := p.probe(probing)
	cancel()
	if ctx.Err() != nil {
		return retry
	}
	p.record(enforced, seen, err)
	p.Log.Info("probed NetworkPolicies", "enforced", enforced, "took", p.Clock.Since(start).Round(time.Millisecond).String(), "seen", seen, "err", errText(err))
	if err == nil && enforced {
		return interval
	}
	return retry
}

// record keeps a result. A probe that could not be made changes nothing of a proof
// that has not expired.
func (p *Prober) record(enforced bool, seen string, err error) {
	before := p.State()
	p.mu.Lock()
	switch {
	case err != nil:
		p.message = "the probe for NetworkPolicies could not be made: " + err.Error()
	case enforced:
		p.proven, p.refuted, p.where, p.message = p.Clock.Now(), false, seen, ""
	default:
		p.proven, p.refuted, p.message = time.Time{}, true, "NetworkPolicies are not enforced: "+seen
	}
	changed := p.changed
	p.mu.Unlock()
	if changed == nil || before == p.State() {
		return
	}
	select {
	case changed <- event.GenericEvent{Object: &v1alpha1.ZTProfile{}}:
	default:
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
