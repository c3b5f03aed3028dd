package broker

import (
	"context"
	"errors"
	"time"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

// shutdownTimeout bounds the guest's sync and unmount if ctx does not. It is longer than
// any caller's clock: a guest that is slow to sync breaks no protocol.
const shutdownTimeout = 5 * time.Minute

// Exec runs a command in the worker container and returns how it ended. The guest
// gets the command's own time limit and a grace to answer in.
//
// Errors, here and in the other operations: *RequestError, *GuestError,
// *TaintError, ErrLost, ErrClosed. A context that ends while the guest works ends
// the connection, because the answer could no longer be told from the next one.
func (c *Conn) Exec(ctx context.Context, exec brokerproto.Exec) (brokerproto.ExecResult, error) {
	limit := time.Duration(exec.TimeoutMillis)*time.Millisecond + c.grace
	answer, err := c.succeed(ctx, brokerproto.Request{Op: brokerproto.OpExec, Exec: &exec}, limit)
	if err != nil {
		return brokerproto.ExecResult{}, err
	}
	return *answer.Exec, nil
}

// Put writes a workspace file.
func (c *Conn) Put(ctx context.Context, put brokerproto.Put) error {
	_, err := c.succeed(ctx, brokerproto.Request{Op: brokerproto.OpPut, Put: &put}, c.fileLimit)
	return err
}

// Get reads a workspace file of at most brokerproto.MaxFile bytes.
func (c *Conn) Get(ctx context.Context, get brokerproto.Get) ([]byte, error) {
	answer, err := c.succeed(ctx, brokerproto.Request{Op: brokerproto.OpGet, Get: &get}, c.fileLimit)
	if err != nil {
		return nil, err
	}
	return answer.Data, nil
}

// Shutdown asks the guest to sync and power off, and ends the connection. It
// returns nil on the guest's word or when the stream ends; neither proves that the
// VM is gone: the caller waits for the process.
func (c *Conn) Shutdown(ctx context.Context) error {
	_, err := c.succeed(ctx, brokerproto.Request{Op: brokerproto.OpShutdown}, shutdownTimeout)
	if errors.Is(err, ErrLost) {
		err = nil
	}
	return err
}

func (c *Conn) succeed(ctx context.Context, request brokerproto.Request, limit time.Duration) (*brokerproto.Message, error) {
	answer, err := c.do(ctx, request, limit)
	if err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, &GuestError{Slug: answer.Error}
	}
	return answer, nil
}
