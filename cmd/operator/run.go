package main

import (
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/ai-dossier/zt-operator/controllers/manager"
)

// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=zt-system,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups="",namespace=zt-system,resources=events,verbs=create;patch

// leaseName is the leader election lease in the operator's namespace.
const leaseName = "operator.zt.ai-dossier.org"

func run(ctx context.Context, o *options) error {
	if err := o.validate(); err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	managerOptions, err := manager.Options(o.runNamespace)
	if err != nil {
		return err
	}
	managerOptions.Metrics.BindAddress = o.metricsAddress
	managerOptions.HealthProbeBindAddress = o.healthAddress
	managerOptions.LeaderElection = o.leaderElect
	managerOptions.LeaderElectionID = leaseName
	managerOptions.LeaderElectionNamespace = o.operatorNamespace
	managerOptions.LeaderElectionReleaseOnCancel = true
	mgr, err := ctrl.NewManager(config, managerOptions)
	if err != nil {
		return fmt.Errorf("make the manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("add the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("add the readiness check: %w", err)
	}
	err = manager.Add(ctx, mgr, manager.Config{
		RunNamespace:      o.runNamespace,
		OperatorNamespace: o.operatorNamespace,
		HolderImage:       o.holderImage,
		Kube:              kube,
		Clock:             clock.RealClock{},
	})
	if err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run the manager: %w", err)
	}
	return nil
}
