// Package manager wires the reconcilers into a controller-runtime manager: which
// objects are cached, and who reads past the cache. The operator's main and the
// tests against a real API server share it.
package manager

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/controllers/internal/nodes"
	"github.com/ai-dossier/zt-operator/controllers/netprobe"
	"github.com/ai-dossier/zt-operator/controllers/proxypolicy"
	"github.com/ai-dossier/zt-operator/controllers/ztprofile"
	"github.com/ai-dossier/zt-operator/controllers/ztrun"
)

// Config is what the reconcilers need beside the manager.
type Config struct {
	RunNamespace      string
	OperatorNamespace string
	HolderImage       string
	Kube              kubernetes.Interface
	Clock             clock.WithTicker
	// Network replaces the probe for NetworkPolicies; nil makes one in the cluster.
	Network ztrun.Network
	// Logs replaces the reader of pods' logs; nil reads them through Kube.
	Logs ztrun.LogReader
}

// Options are the manager's scheme and cache: of namespaced kinds only the run
// namespace, so that no tenant's Secret or ConfigMap is ever held in memory.
func Options(runNamespace string) (ctrl.Options, error) {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return ctrl.Options{}, fmt.Errorf("register the API: %w", err)
	}
	runs := cache.ByObject{Namespaces: map[string]cache.Config{runNamespace: {}}}
	return ctrl.Options{
		Scheme: scheme,
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				&corev1.Pod{}:                 runs,
				&corev1.Service{}:             runs,
				&corev1.ConfigMap{}:           runs,
				&corev1.Secret{}:              runs,
				&networkingv1.NetworkPolicy{}: runs,
				&corev1.Node{}:                {Transform: nodes.Trim},
			},
		},
	}, nil
}

// Add registers the three reconcilers, and the probe that runs are admitted by.
func Add(ctx context.Context, mgr ctrl.Manager, c Config) error {
	recorder := mgr.GetEventRecorder("zt-operator")
	logs := c.Logs
	if logs == nil {
		logs = ztrun.PodLogs{Client: c.Kube}
	}
	network, changed, err := addProbe(mgr, c)
	if err != nil {
		return err
	}
	runs := &ztrun.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Events: recorder, Logs: logs, Clock: c.Clock, Network: network,
		RunNamespace: c.RunNamespace, OperatorNamespace: c.OperatorNamespace, HolderImage: c.HolderImage,
	}
	if err := runs.SetupWithManager(ctx, mgr); err != nil {
		return fmt.Errorf("set up the run controller: %w", err)
	}
	profiles := &ztprofile.Reconciler{Client: mgr.GetClient(), Events: recorder, Clock: c.Clock, Network: network, NetworkChanged: changed}
	if err := profiles.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up the profile controller: %w", err)
	}
	policies := &proxypolicy.Reconciler{Client: mgr.GetClient(), Events: recorder, Clock: c.Clock}
	if err := policies.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up the policy controller: %w", err)
	}
	return nil
}

// addProbe registers the probe for NetworkPolicies, unless the caller brings a result
// of its own. changed tells of its results.
func addProbe(mgr ctrl.Manager, c Config) (_ ztrun.Network, changed <-chan event.GenericEvent, err error) {
	if c.Network != nil {
		return c.Network, nil, nil
	}
	prober := &netprobe.Prober{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: c.Clock, Log: mgr.GetLogger().WithName("netprobe"),
		RunNamespace: c.RunNamespace, Image: c.HolderImage,
	}
	changed = prober.Changed()
	if err := mgr.Add(prober); err != nil {
		return nil, nil, fmt.Errorf("set up the probe for NetworkPolicies: %w", err)
	}
	return prober, changed, nil
}
