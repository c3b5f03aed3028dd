package preflight

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/nodeagent/engine"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor/fake"
	"github.com/ai-dossier/zt-operator/nodeagent/image"
	"github.com/ai-dossier/zt-operator/nodeagent/safepath"
)

// disks makes the disk of a boot, or fails.
type disks struct{ err error }

func (d disks) NewDisk(_ context.Context, _ *image.Manifest, path string, _ uint32) error {
	return errors.Join(d.err, os.WriteFile(path, nil, 0o600))
}

// ended is a hypervisor whose QEMU ends before its guest says anything.
type ended struct{ hypervisor.Process }

func (e ended) Start(context.Context, hypervisor.Config) (hypervisor.Process, error) { return e, nil }
func (ended) Kill() error                                                            { return nil }
func (ended) Stderr() string                                                         { return "failed to set MSR 0x48b\n" }
func (ended) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// smoke makes a Smoke in a folder short enough for a socket, and checks at the end of
// the test that nothing is left in it.
func smoke(t *testing.T, h hypervisor.Hypervisor) *Smoke {
	t.Helper()
	base, err := os.MkdirTemp("", "b")
	if err != nil {
		t.Fatal(err)
	}
	parent, err := safepath.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left, err := os.ReadDir(base); err != nil || len(left) != 0 {
			t.Errorf("left: %v, %v", left, err)
		}
		_ = errors.Join(parent.Close(), os.RemoveAll(base))
	})
	return &Smoke{
		Engine: &engine.Engine{Hypervisor: h, Clock: clock.RealClock{}, Rand: rand.Reader},
		Images: disks{}, Parent: parent, UID: uint32(os.Getuid()),
	}
}

func manifest() *image.Manifest {
	return &image.Manifest{Runtimes: map[string]image.File{"node-22": {Path: "/images/root"}}}
}

func TestASmokeBootHasNoNetworkAndNoRepository(t *testing.T) {
	vms := fake.New(fake.Guest{})
	s := smoke(t, vms)
	if err := s.Boot(t.Context(), manifest()); err != nil {
		t.Fatal(err)
	}
	booted := vms.Boots()
	if len(booted) != 1 {
		t.Fatalf("%d boots", len(booted))
	}
	select {
	case <-booted[0].Process.Done():
	default:
		t.Error("the VM is still there")
	}
	c := booted[0].Config
	if c.Accelerator != v1alpha1.AcceleratorKVM || c.Phase != brokerproto.PhaseVerification || c.ForwardPort != 0 {
		t.Errorf("booted %+v", c)
	}
	if c.Tree != c.Root || filepath.Dir(c.Disk) != c.Dir || len(c.Placement.Cgroups) != 0 {
		t.Errorf("booted %+v", c)
	}
}

func TestASmokeBootFailsAndLeavesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		hypervisor hypervisor.Hypervisor
		change     func(*Smoke, *image.Manifest)
		want       string
	}{
		"QEMU does not start": {fake.New(fake.Guest{StartError: func(hypervisor.Config) error { return errors.New("no device") }}), nil, "no device"},
		"QEMU ends at once":   {ended{}, nil, "QEMU ended and said: failed to set MSR 0x48b"},
		"the guest is silent": {fake.New(fake.Guest{Silent: func(hypervisor.Config) bool { return true }}), nil, "deadline"},
		"another guest answers": {fake.New(fake.Guest{Hello: func(_ hypervisor.Config, hello *brokerproto.Hello) {
			hello.Nonce = strings.Repeat("0", len(hello.Nonce))
		}}), nil, "broke the protocol"},
		"there is no disk": {fake.New(fake.Guest{}), func(s *Smoke, _ *image.Manifest) {
			s.Images = disks{errors.New("no room")}
		}, "no room"},
		"nothing was baked": {fake.New(fake.Guest{}), func(_ *Smoke, m *image.Manifest) { m.Runtimes = nil }, "no runtime"},
	} {
		t.Run(name, func(t *testing.T) {
			s, m := smoke(t, c.hypervisor), manifest()
			if c.change != nil {
				c.change(s, m)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := s.Boot(ctx, m); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}
