package shim

import (
	"encoding/binary"
	"io"
	"syscall"
)

// The records a shim writes: failed alone, or started and then ended.
const (
	recordFailed  = 'f'
	recordStarted = 's'
	recordEnded   = 'e'
	recordSize    = 5
)

// Status is what the records of a shim say.
type Status struct {
	// Started is true if the command was started.
	Started bool
	// Failed is why it could not be started, else 0.
	Failed syscall.Errno
	// Ended is true if Wait says how the command ended. A started command without
	// it was killed together with its shim.
	Ended bool
	// Wait is the command's wait status.
	Wait syscall.WaitStatus
}

// ReadStatus reads the records of a shim from r, which the worker may have written
// to: it reads two records at most and takes no other order than the shim's.
func ReadStatus(r io.Reader) Status {
	var status Status
	kind, value := readRecord(r)
	switch kind {
	case recordFailed:
		status.Failed = syscall.Errno(value)
	case recordStarted:
		status.Started = true
		if kind, value = readRecord(r); kind == recordEnded {
			wait := syscall.WaitStatus(value)
			status.Ended, status.Wait = wait.Exited() || wait.Signaled(), wait
		}
	}
	return status
}

func readRecord(r io.Reader) (byte, uint32) {
	var record [recordSize]byte
	if _, err := io.ReadFull(r, record[:]); err != nil {
		return 0, 0
	}
	return record[0], binary.LittleEndian.Uint32(record[1:])
}
