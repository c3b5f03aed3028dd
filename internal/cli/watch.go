package cli

import (
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func (a *app) watchCommand() *cobra.Command {
	w := &waiter{app: a, print: genericclioptions.NewPrintFlags("").WithTypeSetter(scheme)}
	cmd := &cobra.Command{
		Use:   "watch NAME",
		Short: "Follow a run to its verdict",
		Long: "Follow a run to its verdict and print the evidence. A run that is complete already is printed at once, and so\n" +
			"is one that is paused, with what to mend.\n\n" +
			exitCodesHelp,
		Example: "  kubectl zt watch fix-1234",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			namespace, err := a.namespace()
			if err != nil {
				return usageError(err)
			}
			c, err := a.client()
			if err != nil {
				return failedError(err)
			}
			return w.wait(cmd.Context(), c, client.ObjectKey{Namespace: namespace, Name: args[0]})
		},
	}
	cmd.Flags().DurationVar(&w.timeout, "timeout", 0, "stop waiting after this long, for example 30m; 0 waits as long as the run takes")
	w.print.AddFlags(cmd)
	return cmd
}
