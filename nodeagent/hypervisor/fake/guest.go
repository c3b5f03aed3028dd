package fake

import (
	"fmt"
	"net"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
)

// serve is the guest agent: it returns how the process ends.
func (f *Fake) serve(boot *Boot, p *process) error {
	stream, err := dialAs(boot.Config.UID, boot.Config.Socket)
	if err != nil {
		return fmt.Errorf("fake vm: connect to the broker: %w", err)
	}
	defer stream.Close()
	go func() {
		select {
		case <-p.killed:
		case <-p.done:
		}
		_ = stream.Close()
	}()
	err = f.converse(boot, p, stream)
	select {
	case <-p.killed:
		return errKilled
	default:
		return err
	}
}

func (f *Fake) converse(boot *Boot, p *process, stream net.Conn) error {
	reader, writer := brokerproto.NewReader(stream), brokerproto.NewWriter(stream)
	if err := writer.Write(f.hello(boot.Config)); err != nil {
		return err
	}
	var welcome brokerproto.Welcome
	if err := reader.Read(&welcome); err != nil {
		return f.orphan(p)
	}
	boot.mu.Lock()
	boot.welcome = welcome
	boot.mu.Unlock()
	for {
		var request brokerproto.Request
		if err := reader.Read(&request); err != nil {
			return f.orphan(p)
		}
		boot.mu.Lock()
		boot.requests = append(boot.requests, request)
		boot.mu.Unlock()
		over, err := f.answer(boot.Config, p, stream, writer, request)
		if over {
			return err
		}
	}
}

// orphan is a guest whose host hung up: a VM does not end by that.
func (f *Fake) orphan(p *process) error {
	<-p.killed
	return errKilled
}

func (f *Fake) hello(c hypervisor.Config) brokerproto.Hello {
	hello := brokerproto.Hello{Protocol: brokerproto.Protocol, Scope: c.Scope, Phase: c.Phase, Nonce: c.Nonce}
	if f.guest.Hello != nil {
		f.guest.Hello(c, &hello)
	}
	return hello
}

// answer plays one reply; over is true if the process ends with it.
func (f *Fake) answer(c hypervisor.Config, p *process, stream net.Conn, writer *brokerproto.Writer, request brokerproto.Request) (over bool, err error) {
	reply, message := f.reply(c, request)
	if reply.Dial > 0 {
		if err := writer.Write(brokerproto.Message{Dial: reply.Dial}); err != nil {
			return true, f.orphan(p)
		}
	}
	switch {
	case reply.Crash:
		return true, errCrashed
	case reply.Hang:
		return true, f.orphan(p)
	case reply.Taint:
		_, _ = stream.Write([]byte("{\"id\": \"taint\"}\n"))
		return true, f.orphan(p)
	}
	if err := writer.Write(message); err != nil {
		return true, f.orphan(p)
	}
	return request.Op == brokerproto.OpShutdown && message.Error == "", nil
}

// reply asks the script and puts its reply into a message.
func (f *Fake) reply(c hypervisor.Config, request brokerproto.Request) (Reply, brokerproto.Message) {
	message := brokerproto.Message{ID: request.ID}
	var reply Reply
	switch request.Op {
	case brokerproto.OpExec:
		if f.guest.Exec != nil {
			reply = f.guest.Exec(c, *request.Exec)
		}
		message.Exec = completed(reply.Result, request.Exec.Report)
	case brokerproto.OpGet:
		reply = Reply{Error: brokerproto.ErrorNotFound}
		if f.guest.Get != nil {
			reply = f.guest.Get(c, *request.Get)
		}
		message.Data = reply.Data
	case brokerproto.OpPut:
		if f.guest.Put != nil {
			reply = f.guest.Put(c, *request.Put)
		}
	case brokerproto.OpShutdown:
		if f.guest.Shutdown != nil {
			reply = f.guest.Shutdown(c)
		}
	}
	if reply.Error != "" {
		message = brokerproto.Message{ID: request.ID, Error: reply.Error}
	}
	return reply, message
}

// completed fills in what a script need not say: the streams' sizes, and that a
// report that was asked for and not given is absent.
func completed(result brokerproto.ExecResult, report bool) *brokerproto.ExecResult {
	result.StdoutBytes = max(result.StdoutBytes, int64(len(result.Stdout)))
	result.StderrBytes = max(result.StderrBytes, int64(len(result.Stderr)))
	if report && result.Report == nil {
		result.Report = &brokerproto.Report{Error: brokerproto.ReportAbsent}
	}
	return &result
}
