package qemu

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
)

// newOverlay makes a real run disk the way the image store does.
func newOverlay(t *testing.T) hypervisor.Config {
	t.Helper()
	dir := t.TempDir()
	c := hypervisor.Config{
		UID: uint32(os.Geteuid()), Kernel: filepath.Join(dir, "kernel"),
		Disk: filepath.Join(t.TempDir(), "disk.qcow2"), DiskBase: filepath.Join(dir, "base"),
	}
	if err := os.WriteFile(c.DiskBase, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := exec.Command("qemu-img", "create", "-q", "-f", "qcow2", "-b", c.DiskBase, "-F", "raw", c.Disk).CombinedOutput()
	if err != nil {
		t.Fatalf("qemu-img: %v: %s", err, output)
	}
	return c
}

func patch(t *testing.T, path string, offset int64, data []byte) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteAt(data, offset)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestRunDiskIsAcceptedWithItsOwnBaseOnly(t *testing.T) {
	c := newOverlay(t)
	for _, base := range []string{c.DiskBase, ""} {
		c := c
		c.DiskBase = base
		got, err := backingFile(c)
		if err != nil || filepath.Base(got) != "base" {
			t.Errorf("disk base %q: got %q, %v", base, got, err)
		}
	}
}

func TestRunDiskIsRefusedWith(t *testing.T) {
	rename := func(t *testing.T, c *hypervisor.Config, name string) {
		size := make([]byte, 4)
		binary.BigEndian.PutUint32(size, uint32(len(name)))
		patch(t, c.Disk, backingSizeOffset, size)
		header, _ := os.ReadFile(c.Disk)
		patch(t, c.Disk, int64(binary.BigEndian.Uint64(header[backingOffset:])), []byte(name))
	}
	cases := map[string]func(*testing.T, *hypervisor.Config){
		"another backing file":                    func(t *testing.T, c *hypervisor.Config) { rename(t, c, "/etc/shadow") },
		"a backing file elsewhere, base unstated": func(t *testing.T, c *hypervisor.Config) { rename(t, c, "/etc/shadow"); c.DiskBase = "" },
		"a backing protocol":                      func(t *testing.T, c *hypervisor.Config) { rename(t, c, "nbd://127.0.0.1"); c.DiskBase = "" },
		"a backing name of any length": func(t *testing.T, c *hypervisor.Config) {
			patch(t, c.Disk, backingSizeOffset, []byte{0xff, 0xff, 0xff, 0xff})
		},
		"a backing name anywhere": func(t *testing.T, c *hypervisor.Config) { patch(t, c.Disk, backingOffset, []byte{0xff}) },
		"no backing file":         func(t *testing.T, c *hypervisor.Config) { patch(t, c.Disk, backingOffset, make([]byte, 8)) },
		"an external data file":   func(t *testing.T, c *hypervisor.Config) { patch(t, c.Disk, featuresOffset+7, []byte{externalDataFile}) },
		"another format":          func(t *testing.T, c *hypervisor.Config) { patch(t, c.Disk, 0, []byte("KDMV")) },
		"a truncated header":      func(t *testing.T, c *hypervisor.Config) { _ = os.Truncate(c.Disk, 20) },
		"another owner":           func(t *testing.T, c *hypervisor.Config) { c.UID++ },
		"a second name":           func(t *testing.T, c *hypervisor.Config) { _ = os.Link(c.Disk, c.Disk+"2") },
		"a link in its place": func(t *testing.T, c *hypervisor.Config) {
			_ = os.Symlink(c.Disk, c.Disk+".link")
			c.Disk += ".link"
		},
		"a FIFO in its place": func(t *testing.T, c *hypervisor.Config) {
			c.Disk += ".fifo"
			_ = unix.Mkfifo(c.Disk, 0o600)
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			c := newOverlay(t)
			change(t, &c)
			if got, err := backingFile(c); err == nil {
				t.Errorf("accepted with %q", got)
			}
		})
	}
}

func FuzzReadBacking(f *testing.F) {
	f.Add([]byte(qcow2Magic + "\x00\x00\x00\x03" + strings.Repeat("\x00", 96)))
	f.Fuzz(func(t *testing.T, disk []byte) {
		name, err := readBacking(strings.NewReader(string(disk)))
		if err == nil && len(name) > maxBackingName {
			t.Errorf("a name of %d bytes", len(name))
		}
	})
}
