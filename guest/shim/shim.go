package shim

import (
	"encoding/binary"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Name is argv[0] of the shim.
const Name = "zt-shim"

// statusFD is where the shim writes its records.
const statusFD = 3

// Main starts args[0] with args and returns when it has ended.
func Main(args []string) {
	// Not dumpable: the worker, of the same uid, can neither trace this process nor
	// open its descriptors.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	unix.CloseOnExec(statusFD)
	// A handler that does nothing, unlike SIG_IGN, is not inherited by the command.
	signal.Notify(make(chan os.Signal, 1))

	pid, err := start(args)
	if err != nil {
		write(recordFailed, errnoOf(err))
		return
	}
	write(recordStarted, 0)
	write(recordEnded, uint32(wait(pid)))
}

func start(args []string) (int, error) {
	path, err := lookup(args[0], os.Getenv("PATH"))
	if err != nil {
		return 0, err
	}
	return syscall.ForkExec(path, args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
}

// lookup finds a command as execvp would.
func lookup(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for dir := range strings.SplitSeq(path, ":") {
		candidate := filepath.Join(dir, name)
		if info, err := os.Stat(candidate); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return candidate, nil
		}
	}
	return "", syscall.ENOENT
}

// wait reaps until the command has ended.
func wait(command int) syscall.WaitStatus {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid == command {
			return status
		}
	}
}

func errnoOf(err error) uint32 {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return uint32(errno)
	}
	return uint32(syscall.EIO)
}

func write(kind byte, value uint32) {
	record := binary.LittleEndian.AppendUint32([]byte{kind}, value)
	_, _ = syscall.Write(statusFD, record)
}
