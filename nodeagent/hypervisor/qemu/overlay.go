package qemu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
)

// The parts of a qcow2 header that name other files (docs/interop/qcow2.txt of
// QEMU): offsets in bytes, numbers big-endian.
const (
	qcow2Magic        = "QFI\xfb"
	qcow2HeaderBytes  = 104
	versionOffset     = 4
	backingOffset     = 8
	backingSizeOffset = 16
	featuresOffset    = 72
	externalDataFile  = 1 << 2
	maxBackingName    = 1023
)

// backingFile returns the file behind the run disk. The disk's header is not
// trusted, because the VM's process of an earlier phase could write it: QEMU would
// open whatever it names.
func backingFile(c hypervisor.Config) (string, error) {
	file, err := os.OpenFile(c.Disk, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", fmt.Errorf("run disk: %w", err)
	}
	defer file.Close()
	if err := checkOwner(file, c.UID); err != nil {
		return "", fmt.Errorf("run disk: %w", err)
	}
	name, err := readBacking(file)
	if err != nil {
		return "", fmt.Errorf("run disk: %w", err)
	}
	if c.DiskBase == "" && filepath.Dir(name) == filepath.Dir(c.Kernel) && plainPath(name) == nil {
		return name, nil
	}
	if name != c.DiskBase {
		return "", fmt.Errorf("run disk: its header names the backing file %q, not the disk base", name)
	}
	return name, nil
}

func checkOwner(file *os.File, uid uint32) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || stat.Uid != uid || stat.Nlink != 1 {
		return fmt.Errorf("%s is %s: want a regular file with one name, owned by uid %d", file.Name(), info.Mode(), uid)
	}
	return nil
}

// readBacking returns the backing file's name in a qcow2 header, which may be
// anything; empty if there is none.
func readBacking(disk io.ReaderAt) (string, error) {
	header := make([]byte, qcow2HeaderBytes)
	if _, err := disk.ReadAt(header, 0); err != nil {
		return "", fmt.Errorf("read the header: %w", err)
	}
	if string(header[:len(qcow2Magic)]) != qcow2Magic || binary.BigEndian.Uint32(header[versionOffset:]) != 3 {
		return "", errors.New("not a qcow2 file of version 3")
	}
	if binary.BigEndian.Uint64(header[featuresOffset:])&externalDataFile != 0 {
		return "", errors.New("its header names an external data file")
	}
	offset, size := binary.BigEndian.Uint64(header[backingOffset:]), binary.BigEndian.Uint32(header[backingSizeOffset:])
	if offset == 0 {
		return "", nil
	}
	if size > maxBackingName || offset > 1<<20 {
		return "", errors.New("the name of its backing file is out of bounds")
	}
	name := make([]byte, size)
	if _, err := disk.ReadAt(name, int64(offset)); err != nil {
		return "", fmt.Errorf("read the name of its backing file: %w", err)
	}
	return string(name), nil
}
