package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// app is what the commands share. Tests replace the client and the clock.
type app struct {
	genericiooptions.IOStreams
	flags  *genericclioptions.ConfigFlags
	clock  clock.WithTicker
	client func() (client.WithWatch, error)
}

// Main runs kubectl-zt and returns the process's exit code.
func Main(ctx context.Context, streams genericiooptions.IOStreams, args []string) int {
	a := &app{IOStreams: streams, flags: genericclioptions.NewConfigFlags(true), clock: clock.RealClock{}}
	a.client = a.connect
	return a.main(ctx, args)
}

func (a *app) main(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && err.Error() != "" {
		fmt.Fprintf(a.ErrOut, "error: %v\n", err)
	}
	return exitCode(err)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-zt",
		Short: "Prove in disposable, networkless VMs that a fix fixes what its regression test shows",
		Long: "Prove in disposable, networkless VMs that a fix fixes what its regression test shows.\n\n" +
			exitCodesHelp,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl zt"},
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.ErrOut)
	a.flags.AddFlags(root.PersistentFlags())
	root.AddCommand(a.runCommand(), a.watchCommand(), a.resumeCommand())
	return root
}

// scheme knows exactly the two kinds that the plug-in reads and writes.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(v1alpha1.AddToScheme(s))
	utilruntime.Must(corev1.AddToScheme(s))
	return s
}()

// connect makes a client that knows its kinds' resources itself: no discovery,
// which on large clusters is many requests.
func (a *app) connect() (client.WithWatch, error) {
	config, err := a.flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(v1alpha1.GroupVersion.WithKind("ZTRun"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	return client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: mapper})
}

func (a *app) namespace() (string, error) {
	namespace, _, err := a.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("read the namespace from the kubeconfig: %w", err)
	}
	return namespace, nil
}
