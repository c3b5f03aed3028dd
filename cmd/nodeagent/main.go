// Command nodeagent runs the VMs of ZTRuns on its node. Under two further names
// of its first argument it is a helper process of its own: the launcher of one
// QEMU and the reader of one source.
package main

import (
	"flag"
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor/qemu"
	"github.com/ai-dossier/zt-operator/nodeagent/source"
)

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case qemu.LaunchCommand:
			qemu.LaunchMain()
		case source.ChildArgument:
			source.ChildMain()
		}
	}
	var o options
	o.bind(flag.CommandLine)
	logs := zap.Options{}
	logs.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logs)))
	if err := run(ctrl.SetupSignalHandler(), o); err != nil {
		fmt.Fprintf(os.Stderr, "nodeagent: %v\n", err)
		os.Exit(1)
	}
}
