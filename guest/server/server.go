package server

import (
	"errors"
	"fmt"
	"io"

	"github.com/ai-dossier/zt-operator/guest/worker"
	"github.com/ai-dossier/zt-operator/guest/workspace"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

// Commands runs commands in the worker container.
type Commands interface {
	// Run runs one command to its end and bounds what it returns. An error means that
	// the command did not run.
	Run(*brokerproto.Exec) (*brokerproto.ExecResult, error)
}

// Files reads and writes single workspace files.
type Files interface {
	// Read returns a regular file of at most limit bytes.
	Read(name string, limit int) ([]byte, error)
	// Write makes or replaces a regular file whole, with these permission bits, and
	// with owner as its uid and gid.
	Write(name string, data []byte, mode uint32, owner int) error
}

// Server answers requests.
type Server struct {
	// Phase of this boot; requests that do not fit it are refused.
	Phase brokerproto.Phase
	// Commands runs what the host asks to execute.
	Commands Commands
	// Files are the workspace's.
	Files Files
	// Owner is the uid and gid of files that the host puts.
	Owner int
	// Log takes the full text of what the host sees as a slug only.
	Log func(error)
}

// Serve answers requests from in until the host asks for the end, which is nil, or
// goes away or breaks the protocol, which is an error.
func (s *Server) Serve(in *brokerproto.Reader, out *brokerproto.Writer) error {
	for {
		var request brokerproto.Request
		if err := in.Read(&request); err != nil {
			if errors.Is(err, io.EOF) {
				return errors.New("the host has gone")
			}
			return fmt.Errorf("read request: %w", err)
		}
		if err := out.Write(s.answer(&request)); err != nil {
			return err
		}
		if request.Op == brokerproto.OpShutdown {
			return nil
		}
	}
}

// Decline answers the host's next request with an error slug, whatever it is: the VM is
// of no use, and the host should know why.
func Decline(in *brokerproto.Reader, out *brokerproto.Writer, slug string) error {
	var request brokerproto.Request
	if err := in.Read(&request); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	return out.Write(&brokerproto.Message{ID: request.ID, Error: slug})
}

func (s *Server) answer(request *brokerproto.Request) *brokerproto.Message {
	answer := &brokerproto.Message{ID: request.ID}
	if err := s.do(request, answer); err != nil {
		s.Log(fmt.Errorf("%s: %w", request.Op, err))
		return &brokerproto.Message{ID: request.ID, Error: slug(err)}
	}
	return answer
}

func (s *Server) do(request *brokerproto.Request, answer *brokerproto.Message) (err error) {
	if err := request.Validate(s.Phase); err != nil {
		return err
	}
	switch request.Op {
	case brokerproto.OpExec:
		answer.Exec, err = s.Commands.Run(request.Exec)
	case brokerproto.OpPut:
		err = s.Files.Write(request.Put.Path, request.Put.Data, request.Put.Mode, s.Owner)
	case brokerproto.OpGet:
		answer.Data, err = s.Files.Read(request.Get.Path, brokerproto.MaxFile)
	}
	return err
}

// slugs are the errors the host can tell apart; anything else is an I/O error.
var slugs = []struct {
	err  error
	slug string
}{
	{worker.ErrNotFound, brokerproto.ErrorNotFound},
	{worker.ErrContainer, brokerproto.ErrorContainerFailed},
	{workspace.ErrNotFound, brokerproto.ErrorNotFound},
	{workspace.ErrNotRegular, brokerproto.ErrorNotRegular},
	{workspace.ErrTooLarge, brokerproto.ErrorTooLarge},
}

func slug(err error) string {
	var broken *brokerproto.Error
	if errors.As(err, &broken) {
		if broken.Field == "exec.network" {
			return brokerproto.ErrorNetworkRefused
		}
		return brokerproto.ErrorBadRequest
	}
	for _, s := range slugs {
		if errors.Is(err, s.err) {
			return s.slug
		}
	}
	return brokerproto.ErrorIO
}
