package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

// answerGrace is what the guest gets on top of a command's own time limit, to end
// the command and to send its answer over the slow port. fileTimeout bounds put
// and get. Both have headroom for TCG on a busy node.
const (
	answerGrace = 2 * time.Minute
	fileTimeout = 2 * time.Minute
)

// Conn carries requests to one guest, one at a time.
type Conn struct {
	stream net.Conn
	writer *brokerproto.Writer
	phase  brokerproto.Phase
	dials  *dialGate

	// turn holds a token while no request is on the wire.
	turn chan struct{}
	// answers carries the answer to the request on the wire.
	answers chan *brokerproto.Message
	// done is closed when the connection ends; cause then says why.
	done chan struct{}
	// grace and fileLimit are answerGrace and fileTimeout but in tests.
	grace, fileLimit time.Duration

	mu      sync.Mutex
	cause   error
	pending *brokerproto.Request
	lastID  uint64
}

func newConn(stream net.Conn, reader *brokerproto.Reader, phase brokerproto.Phase, onDial func(int)) *Conn {
	c := &Conn{
		stream: stream, writer: brokerproto.NewWriter(stream), phase: phase,
		dials: newDialGate(onDial, time.Now), turn: make(chan struct{}, 1),
		answers: make(chan *brokerproto.Message, 1), done: make(chan struct{}),
		grace: answerGrace, fileLimit: fileTimeout,
	}
	c.turn <- struct{}{}
	go c.read(reader)
	return c
}

// Tainted returns the first *TaintError, or nil.
func (c *Conn) Tainted() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var taint *TaintError
	if errors.As(c.cause, &taint) {
		return taint
	}
	return nil
}

// Done is closed when the connection has ended, for whatever reason.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Close ends the connection. It may be called at any time and more than once.
func (c *Conn) Close() { c.end(ErrClosed) }

// end closes the connection for the first cause given; a taint found later is
// kept in its place, because it says more about the VM.
func (c *Conn) end(cause error) {
	c.mu.Lock()
	first := c.cause == nil
	if first {
		c.cause = cause
	}
	c.mu.Unlock()
	if first {
		close(c.done)
		_ = c.stream.Close()
	}
}

func (c *Conn) endCause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// read takes every message the guest sends until the connection ends.
func (c *Conn) read(reader *brokerproto.Reader) {
	for {
		var message brokerproto.Message
		if err := reader.Read(&message); err != nil {
			c.end(streamError(err))
			return
		}
		if err := c.take(&message); err != nil {
			c.end(&TaintError{Reason: err})
			return
		}
	}
}

// take judges one message; an error is a violation.
func (c *Conn) take(message *brokerproto.Message) error {
	if message.IsDial() {
		if err := message.ValidateDial(c.phase); err != nil {
			return err
		}
		return c.dials.admit(message.Dial)
	}
	c.mu.Lock()
	request := c.pending
	c.pending = nil
	c.mu.Unlock()
	if request == nil {
		return errors.New("an answer without a request")
	}
	if err := message.ValidateAnswer(request); err != nil {
		return err
	}
	c.answers <- message // Never blocks: pending was set, so the buffer is empty.
	return nil
}

// do carries one request to its answer. limit bounds the guest's work.
func (c *Conn) do(ctx context.Context, request brokerproto.Request, limit time.Duration) (*brokerproto.Message, error) {
	select {
	case <-c.turn:
		defer func() { c.turn <- struct{}{} }()
	case <-c.done:
		return nil, c.endCause()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := c.send(&request, limit); err != nil {
		return nil, err
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case answer := <-c.answers:
		return answer, nil
	case <-c.done:
		return c.lateAnswer()
	case <-timer.C:
		c.end(&TaintError{Reason: fmt.Errorf("no answer to %s within %s", request.Op, limit)})
	case <-ctx.Done():
		c.end(fmt.Errorf("%w: %s given up: %w", ErrClosed, request.Op, context.Cause(ctx)))
	}
	return nil, c.endCause()
}

// lateAnswer prefers a valid answer that came just before the stream ended, as
// the answer to shutdown does, but never over a taint.
func (c *Conn) lateAnswer() (*brokerproto.Message, error) {
	select {
	case answer := <-c.answers:
		if err := c.Tainted(); err != nil {
			return nil, err
		}
		return answer, nil
	default:
		return nil, c.endCause()
	}
}

func (c *Conn) send(request *brokerproto.Request, limit time.Duration) error {
	c.mu.Lock()
	if c.cause != nil {
		defer c.mu.Unlock()
		return c.cause
	}
	request.ID = c.lastID + 1
	if err := request.Validate(c.phase); err != nil {
		c.mu.Unlock()
		return &RequestError{Reason: err}
	}
	c.lastID = request.ID
	c.pending = request
	c.mu.Unlock()
	// A guest that does not read must not hold the host for ever.
	_ = c.stream.SetWriteDeadline(time.Now().Add(limit))
	err := c.writer.Write(request)
	if errors.Is(err, brokerproto.ErrFrameTooLarge) {
		c.forget()
		return &RequestError{Reason: err}
	}
	if err != nil {
		c.end(fmt.Errorf("%w: %w", ErrLost, err))
		return c.endCause()
	}
	return nil
}

func (c *Conn) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = nil
}

func isEOF(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
