package main

import (
	"errors"
	"flag"
	"os"
)

// options are the command line.
type options struct {
	runNamespace      string
	operatorNamespace string
	holderImage       string
	metricsAddress    string
	healthAddress     string
	leaderElect       bool
}

func (o *options) bind(flags *flag.FlagSet) {
	flags.StringVar(&o.runNamespace, "run-namespace", "zt-runs",
		"namespace of every pod, Secret and policy of a run; tenants must have no rights there")
	flags.StringVar(&o.operatorNamespace, "operator-namespace", os.Getenv("POD_NAMESPACE"),
		"namespace of the operator, the node agents and the registries' CA bundle (default: $POD_NAMESPACE)")
	flags.StringVar(&o.holderImage, "holder-image", "", "image of the vm pod's container, by digest")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080", `address of the metrics endpoint, "0" for none`)
	flags.StringVar(&o.healthAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz")
	flags.BoolVar(&o.leaderElect, "leader-elect", false, "work only while holding the lease, for more than one replica")
}

func (o *options) validate() error {
	switch {
	case o.operatorNamespace == "":
		return errors.New("--operator-namespace is needed (or the environment variable POD_NAMESPACE)")
	case o.runNamespace == "" || o.runNamespace == o.operatorNamespace:
		return errors.New("--run-namespace must be a namespace of its own")
	case o.holderImage == "":
		return errors.New("--holder-image is needed")
	}
	return nil
}
