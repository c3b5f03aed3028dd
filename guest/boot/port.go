package boot

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

const (
	portClass = "/sys/class/virtio-ports"
	// portWait bounds the wait for the port and for the host behind it. The host
	// listens before it starts the VM, so only a slow boot needs it.
	portWait = 60 * time.Second
)

// Port is the broker's virtio-serial port.
type Port struct {
	fd        int
	connected bool
}

// openPort finds the port by its name and opens it. The kernel lets it be opened
// only once.
func openPort() (*Port, error) {
	deadline := time.Now().Add(portWait)
	for {
		device, err := findPort(portClass, brokerproto.PortName)
		if err == nil {
			fd, err := unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC, 0)
			if err != nil {
				return nil, fmt.Errorf("open the broker port: %w", err)
			}
			return &Port{fd: fd}, nil
		}
		if time.Now().After(deadline) {
			return nil, err
		}
		time.Sleep(time.Millisecond)
	}
}

func findPort(class, name string) (string, error) {
	entries, _ := filepath.Glob(filepath.Join(class, "*", "name"))
	for _, entry := range entries {
		text, err := os.ReadFile(entry)
		if err == nil && strings.TrimSpace(string(text)) == name {
			return "/dev/" + filepath.Base(filepath.Dir(entry)), nil
		}
	}
	return "", errors.New("no port of the broker's name")
}

// Read reads from the host; it blocks.
func (p *Port) Read(buffer []byte) (int, error) {
	deadline := time.Now().Add(portWait)
	for {
		n, err := unix.Read(p.fd, buffer)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			continue
		case err != nil:
			return 0, fmt.Errorf("read the broker port: %w", err)
		case n > 0:
			p.connected = true
			return n, nil
		case p.connected || time.Now().After(deadline):
			return 0, io.EOF
		}
		// The port reads as ended until the host has connected.
		time.Sleep(time.Millisecond)
	}
}

// Write writes to the host. The driver takes a part at a time.
func (p *Port) Write(data []byte) (int, error) {
	written := 0
	for written < len(data) {
		n, err := unix.Write(p.fd, data[written:])
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			continue
		case err != nil:
			return written, fmt.Errorf("write the broker port: %w", err)
		}
		written += n
	}
	return written, nil
}
