package fake

import (
	"errors"
	"sync"
)

// firstPID is above every pid the kernel gives, so that a test that signals one by
// mistake hits nothing.
const firstPID = 1 << 23

var errKilled = errors.New("fake vm was killed")

// process stands for a VM process.
type process struct {
	pid     int
	network bool
	done    chan struct{}
	killed  chan struct{}

	kill, ended sync.Once
	mu          sync.Mutex
	err         error
}

func newProcess(number int, network bool) *process {
	return &process{pid: firstPID + number, network: network, done: make(chan struct{}), killed: make(chan struct{})}
}

func (p *process) PID() int              { return p.pid }
func (p *process) Done() <-chan struct{} { return p.done }
func (p *process) HasNetwork() bool      { return p.network }
func (p *process) Stderr() string        { return "" }

func (p *process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Kill ends the process and waits for the script to notice.
func (p *process) Kill() error {
	p.kill.Do(func() { close(p.killed) })
	<-p.done
	return nil
}

func (p *process) end(err error) {
	p.ended.Do(func() {
		p.mu.Lock()
		p.err = err
		p.mu.Unlock()
		close(p.done)
	})
}
