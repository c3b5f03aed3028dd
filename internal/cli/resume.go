package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

type resumeOptions struct {
	waiter
	wait bool
}

func (a *app) resumeCommand() *cobra.Command {
	o := &resumeOptions{waiter: waiter{app: a, print: genericclioptions.NewPrintFlags("").WithTypeSetter(scheme)}}
	cmd := &cobra.Command{
		Use:   "resume NAME",
		Short: "Start the next attempt of a paused run and wait for the verdict",
		Long: "Start the next attempt of a paused run and wait for the verdict.\n\n" +
			"A run pauses when its dependencies could not be installed for a reason that says nothing of the\n" +
			"repository; kubectl zt watch prints what to mend. The next attempt starts from scratch, from the same\n" +
			"source and under the same runtime. A run has at most " + strconv.Itoa(v1alpha1.MaxAttempts) + " attempts.\n\n" +
			"Without this plug-in, annotate the run with the number of the attempt that paused, as in\n" +
			"  kubectl annotate ztr NAME " + v1alpha1.ResumeAnnotation + "=1 --overwrite\n\n" +
			exitCodesHelp,
		Example: "  kubectl zt resume fix-1234",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			namespace, err := a.namespace()
			if err != nil {
				return usageError(err)
			}
			return o.resume(cmd.Context(), client.ObjectKey{Namespace: namespace, Name: args[0]})
		},
	}
	cmd.Flags().BoolVar(&o.wait, "wait", true, "follow the run and print the verdict")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "stop waiting after this long, for example 30m; 0 waits as long as the run takes")
	o.print.AddFlags(cmd)
	return cmd
}

func (o *resumeOptions) resume(ctx context.Context, key client.ObjectKey) error {
	c, err := o.client()
	if err != nil {
		return failedError(err)
	}
	run := &v1alpha1.ZTRun{}
	if err := c.Get(ctx, key, run); err != nil {
		return failedError(fmt.Errorf("get ztrun %s: %w", key, err))
	}
	if run.Status.Phase != v1alpha1.PhasePaused {
		return failedError(fmt.Errorf("ztrun %s is %s, expected %s: there is nothing to resume", key, phaseOf(run), v1alpha1.PhasePaused))
	}
	// The number makes this harmless if the run has meanwhile moved on: it then names an
	// attempt that is not paused any more.
	before := run.DeepCopy()
	metav1.SetMetaDataAnnotation(&run.ObjectMeta, v1alpha1.ResumeAnnotation, strconv.Itoa(int(run.Status.Attempt)))
	if err := c.Patch(ctx, run, client.MergeFrom(before)); err != nil {
		return failedError(fmt.Errorf("annotate ztrun %s: %w", key, err))
	}
	fmt.Fprintf(o.ErrOut, "ztrun %s resumed: attempt %d of at most %d\n", key, run.Status.Attempt+1, v1alpha1.MaxAttempts)
	if !o.wait {
		return o.submitted(run)
	}
	return o.waiter.wait(ctx, c, key)
}

func phaseOf(run *v1alpha1.ZTRun) v1alpha1.RunPhase {
	if run.Status.Phase == "" {
		return v1alpha1.PhasePending
	}
	return run.Status.Phase
}
