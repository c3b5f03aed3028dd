package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/nodeagent/agent"
	"github.com/ai-dossier/zt-operator/nodeagent/engine"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor/qemu"
	"github.com/ai-dossier/zt-operator/nodeagent/image"
	"github.com/ai-dossier/zt-operator/nodeagent/placement"
	"github.com/ai-dossier/zt-operator/nodeagent/preflight"
	"github.com/ai-dossier/zt-operator/nodeagent/safepath"
	"github.com/ai-dossier/zt-operator/nodeagent/source"
)

// firstVMUID starts a range of user ids far above those that distributions and
// container user namespaces hand out.
const firstVMUID = 1_879_048_192

type options struct {
	node, runNamespace, stateDir  string
	qemu, firmware, kvm           string
	healthAddress, metricsAddress string
}

func (o *options) bind(flags *flag.FlagSet) {
	flags.StringVar(&o.node, "node-name", os.Getenv("NODE_NAME"), "name of this node")
	flags.StringVar(&o.runNamespace, "run-namespace", "zt-runs", "namespace of the run pods")
	flags.StringVar(&o.stateDir, "state-dir", "/var/lib/zt", "private directory for images and VMs")
	flags.StringVar(&o.qemu, "qemu", "/usr/bin/qemu-system-x86_64", "QEMU binary")
	flags.StringVar(&o.firmware, "firmware-dir", "/usr/share/qemu", "directory of QEMU's firmware")
	flags.StringVar(&o.kvm, "kvm-device", "/dev/kvm", "KVM device")
	flags.StringVar(&o.healthAddress, "health-address", ":8081", "address of the health endpoints")
	flags.StringVar(&o.metricsAddress, "metrics-address", "0", "address of the metrics endpoint; 0 for none")
}

func run(ctx context.Context, o options) error {
	if o.node == "" {
		return errors.New("--node-name is required")
	}
	if err := preflight.Host(); err != nil {
		return err
	}
	manager, err := newManager(o)
	if err != nil {
		return err
	}
	host, err := newHost(manager, o)
	if err != nil {
		return err
	}
	sessions := agent.NewSessions(host, ctrl.Log.WithName("session"))
	defer sessions.Drain()
	runs := &agent.RunReconciler{Client: manager.GetClient(), Node: o.node, Sessions: sessions}
	profiles := &agent.ProfileReconciler{
		Host: host, Client: manager.GetClient(), Node: o.node, Accelerators: newAccelerators(host, o),
	}
	if err := errors.Join(runs.SetupWithManager(manager), profiles.SetupWithManager(manager)); err != nil {
		return fmt.Errorf("setting up reconcilers: %w", err)
	}
	return manager.Start(ctx)
}

// newManager makes a manager whose cache holds the runs of this node only.
func newManager(o options) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the cluster's configuration: %w", err)
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		HealthProbeBindAddress: o.healthAddress,
		Metrics:                server.Options{BindAddress: o.metricsAddress},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&v1alpha1.ZTRun{}: {Field: fields.OneTermEqualSelector("status.nodeName", o.node)},
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	if err := errors.Join(manager.AddHealthzCheck("ping", healthz.Ping), manager.AddReadyzCheck("ping", healthz.Ping)); err != nil {
		return nil, fmt.Errorf("adding health checks: %w", err)
	}
	return manager, nil
}

func newHost(manager ctrl.Manager, o options) (*agent.Host, error) {
	uncached, err := client.New(manager.GetConfig(), client.Options{Scheme: manager.GetScheme()})
	if err != nil {
		return nil, fmt.Errorf("making the uncached client: %w", err)
	}
	images, err := image.Open(filepath.Join(o.stateDir, "images"))
	if err != nil {
		return nil, fmt.Errorf("opening the image store: %w", err)
	}
	runs, err := openRuns(o.stateDir)
	if err != nil {
		return nil, fmt.Errorf("preparing the runs' folder: %w", err)
	}
	return &agent.Host{
		Client: uncached, RunNamespace: o.runNamespace, Runs: runs, FirstVMUID: firstVMUID + 1,
		Engine: &engine.Engine{Hypervisor: qemu.New(o.qemu, o.firmware), Clock: clock.RealClock{}, Rand: rand.Reader},
		Images: store{images}, Source: &source.Reader{}, Profiles: &agent.Profiles{}, FindPod: findPod,
		ListCache: agent.ListCache,
	}, nil
}

// store is the image store as the agent knows it.
type store struct{ *image.Store }

func (store) Verify(manifest *image.Manifest) error { return manifest.Verify() }

func findPod(uid types.UID) (agent.Pod, error) {
	pod, err := placement.Find(uid)
	if err != nil {
		return nil, err
	}
	return pod, nil
}

// openRuns makes the runs' folder anew. Whatever an earlier life of this agent left
// there belongs to nobody: its VMs died with it. The name is short because socket
// paths are limited.
func openRuns(stateDir string) (*safepath.Dir, error) {
	const name = "r"
	state, err := safepath.Open(stateDir)
	if err != nil {
		return nil, err
	}
	defer state.Close()
	if err := state.RemoveAll(name); err != nil {
		return nil, err
	}
	return state.MkdirPassable(name)
}

func newAccelerators(host *agent.Host, o options) *preflight.Accelerators {
	smoke := &preflight.Smoke{
		Engine: host.Engine, Images: host.Images, UID: firstVMUID, Parent: host.Runs,
	}
	return &preflight.Accelerators{Device: o.kvm, Smoke: smoke.Boot, Log: ctrl.Log.WithName("preflight")}
}
