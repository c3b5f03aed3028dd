package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

// maxSocketPath is sun_path without its NUL, in bytes.
const maxSocketPath = 107

// defaultHelloTimeout bounds Accept if its context has no deadline. A TCG boot on
// a loaded node takes seconds; the engine sets its own, tighter bound.
const defaultHelloTimeout = 3 * time.Minute

// Expect is what the guest's hello must say: what the host told the VM.
type Expect struct {
	// Scope of the VM's agent.
	Scope brokerproto.Scope
	// Phase this boot is for.
	Phase brokerproto.Phase
	// Nonce of this boot, hex; a guest of another boot does not know it.
	Nonce string
}

// Listener waits for the one connection of one boot.
type Listener struct {
	listener *net.UnixListener
	uid      uint32
	close    sync.Once
}

// Listen makes the socket at path, which must not exist, in a folder that must be
// private (0700) and owned by uid, the VM process's. Only that uid, and root, can
// connect.
func Listen(path string, uid uint32) (*Listener, error) {
	if len(path) > maxSocketPath {
		return nil, &PathTooLongError{Length: len(path), Max: maxSocketPath}
	}
	if err := checkPrivate(filepath.Dir(path), uid); err != nil {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen for the broker: %w", err)
	}
	l := &Listener{listener: listener, uid: uid}
	if err := os.Lchown(path, int(uid), -1); err != nil {
		l.Close()
		return nil, fmt.Errorf("hand the broker socket to uid %d: %w", uid, err)
	}
	return l, nil
}

// checkPrivate refuses a folder, or a link in its place, where another user could
// put a socket of its own.
func checkPrivate(dir string, uid uint32) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("broker folder: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || info.Mode().Perm() != 0o700 || stat.Uid != uid {
		return fmt.Errorf("broker folder %s is %s: want a folder of mode 0700 owned by uid %d", dir, info.Mode(), uid)
	}
	return nil
}

// Close removes the socket. An accepted connection stays open.
func (l *Listener) Close() {
	l.close.Do(func() { _ = l.listener.Close() })
}

// Accept waits for the connection, reads the hello, checks it against want and
// answers it with welcome. No second connection is accepted, whatever the result.
// ctx bounds all of it. onDial gets the guest's demands for relay connections; it
// must not block, and may be nil in verification.
//
// Errors: *TaintError, *RequestError (the welcome is not valid), ErrLost, or the
// context's.
func (l *Listener) Accept(ctx context.Context, want Expect, welcome brokerproto.Welcome, onDial func(int)) (*Conn, error) {
	defer l.Close()
	if err := welcome.Validate(want.Phase); err != nil {
		return nil, &RequestError{Reason: err}
	}
	ctx, cancel := context.WithTimeout(ctx, helloTimeout(ctx))
	defer cancel()
	stream, err := l.acceptOne(ctx)
	if err != nil {
		return nil, err
	}
	reader, err := greet(ctx, stream, want, welcome)
	if err != nil {
		_ = stream.Close()
		return nil, err
	}
	return newConn(stream, reader, want.Phase, onDial), nil
}

func helloTimeout(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return time.Until(deadline)
	}
	return defaultHelloTimeout
}

func (l *Listener) acceptOne(ctx context.Context) (*net.UnixConn, error) {
	stop := context.AfterFunc(ctx, func() { _ = l.listener.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	stream, err := l.listener.AcceptUnix()
	if err != nil {
		return nil, fmt.Errorf("wait for the VM's connection: %w", orContext(ctx, err))
	}
	if err := l.checkPeer(stream); err != nil {
		_ = stream.Close()
		return nil, err
	}
	return stream, nil
}

// checkPeer wants the VM process's uid at the other end.
func (l *Listener) checkPeer(stream *net.UnixConn) error {
	raw, err := stream.SyscallConn()
	if err != nil {
		return fmt.Errorf("broker peer: %w", err)
	}
	var peer *unix.Ucred
	var peerErr error
	if err := raw.Control(func(fd uintptr) {
		peer, peerErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return fmt.Errorf("broker peer: %w", err)
	}
	if peerErr != nil {
		return fmt.Errorf("broker peer: %w", peerErr)
	}
	if peer.Uid != l.uid {
		return fmt.Errorf("broker peer has uid %d: want %d", peer.Uid, l.uid)
	}
	return nil
}

func greet(ctx context.Context, stream net.Conn, want Expect, welcome brokerproto.Welcome) (*brokerproto.Reader, error) {
	stop := context.AfterFunc(ctx, func() { _ = stream.SetDeadline(time.Unix(1, 0)) })
	reader := brokerproto.NewReader(stream)
	var hello brokerproto.Hello
	err := reader.Read(&hello)
	if err != nil {
		err = orContext(ctx, streamError(err))
	} else if invalid := hello.Validate(want.Scope, want.Phase, want.Nonce); invalid != nil {
		err = &TaintError{Reason: invalid}
	} else if failed := brokerproto.NewWriter(stream).Write(welcome); failed != nil {
		err = orContext(ctx, fmt.Errorf("%w: %w", ErrLost, failed))
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("broker hello: %w", err)
	}
	return reader, nil
}

// streamError tells a stream that ended from one that carries what it must not.
func streamError(err error) error {
	var netErr net.Error
	var opErr *net.OpError
	switch {
	case errors.Is(err, net.ErrClosed), errors.As(err, &netErr), errors.As(err, &opErr), isEOF(err):
		return fmt.Errorf("%w: %w", ErrLost, err)
	default:
		return &TaintError{Reason: err}
	}
}

// orContext prefers the context's reason for an operation that it cut short.
func orContext(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		var taint *TaintError
		if !errors.As(err, &taint) {
			return cause
		}
	}
	return err
}
