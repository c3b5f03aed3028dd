package fake

import (
	"context"
	"errors"
	"sync"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
)

// Guest is the script of every VM a Fake starts. The zero value boots, answers
// every command with exit code 0, and shuts down when asked.
type Guest struct {
	// StartError fails Start for a boot; nil never fails.
	StartError func(hypervisor.Config) error
	// Hello changes the guest's hello; nil leaves it true.
	Hello func(hypervisor.Config, *brokerproto.Hello)
	// Silent boots the VM without ever connecting to the broker.
	Silent func(hypervisor.Config) bool
	// Exec answers a command; nil, or a zero Reply, is exit code 0.
	Exec func(hypervisor.Config, brokerproto.Exec) Reply
	// Get answers a read; nil is not_found.
	Get func(hypervisor.Config, brokerproto.Get) Reply
	// Put answers a write; nil, or a zero Reply, is success.
	Put func(hypervisor.Config, brokerproto.Put) Reply
	// Shutdown answers shutdown; nil, or a zero Reply, ends the process with
	// status 0.
	Shutdown func(hypervisor.Config) Reply
	// Network makes HasNetwork of a boot a lie; nil tells the truth.
	Network func(hypervisor.Config) bool
}

// Reply is what the guest does about one request. At most one of Crash, Taint and
// Hang is set; Dial comes before any of them.
type Reply struct {
	// Dial sends that demand for relay connections first.
	Dial int
	// Result of a command.
	Result brokerproto.ExecResult
	// Data of a file.
	Data []byte
	// Error is the slug the guest answers with instead.
	Error string
	// Crash ends the VM process instead of answering.
	Crash bool
	// Taint answers with what breaks the protocol.
	Taint bool
	// Hang never answers. The process can still be killed.
	Hang bool
}

// Fake is a scripted Hypervisor. Use New.
type Fake struct {
	guest Guest

	mu    sync.Mutex
	boots []*Boot
}

var _ hypervisor.Hypervisor = (*Fake)(nil)

// Boot records one start and what its guest was asked.
type Boot struct {
	// Config the VM was started with.
	Config hypervisor.Config
	// Process that Start returned.
	Process hypervisor.Process

	mu       sync.Mutex
	welcome  brokerproto.Welcome
	requests []brokerproto.Request
}

// New returns a Fake that runs guest in each VM.
func New(guest Guest) *Fake { return &Fake{guest: guest} }

// Boots returns the starts so far, in order.
func (f *Fake) Boots() []*Boot {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*Boot(nil), f.boots...)
}

// Requests returns what the guest was asked so far, in order.
func (b *Boot) Requests() []brokerproto.Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]brokerproto.Request(nil), b.requests...)
}

// Welcome returns what the host answered the guest's hello with.
func (b *Boot) Welcome() brokerproto.Welcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.welcome
}

// Start implements hypervisor.Hypervisor.
func (f *Fake) Start(ctx context.Context, c hypervisor.Config) (hypervisor.Process, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if f.guest.StartError != nil {
		if err := f.guest.StartError(c); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p := newProcess(len(f.boots)+1, f.network(c))
	boot := &Boot{Config: c, Process: p}
	f.boots = append(f.boots, boot)
	go f.run(boot, p)
	return p, nil
}

func (f *Fake) network(c hypervisor.Config) bool {
	if f.guest.Network != nil {
		return f.guest.Network(c)
	}
	return c.ForwardPort != 0
}

// errCrashed is the end of a process whose script said Crash.
var errCrashed = errors.New("fake vm crashed")

func (f *Fake) run(boot *Boot, p *process) {
	if f.guest.Silent != nil && f.guest.Silent(boot.Config) {
		<-p.killed
		p.end(errKilled)
		return
	}
	p.end(f.serve(boot, p))
}
