package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/cli/follow"
	"github.com/ai-dossier/zt-operator/internal/cli/report"
)

// errWaited says that --timeout ended the wait.
var errWaited = errors.New("timed out waiting for the run")

// waiter follows a run to its end, or to its pause, and prints what came of it.
type waiter struct {
	*app
	timeout time.Duration
	print   *genericclioptions.PrintFlags
}

// wait returns nil only if the verdict is reproduced_and_fixed; else an exitError.
func (w *waiter) wait(ctx context.Context, c client.WithWatch, key client.ObjectKey) error {
	if w.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, w.timeout, fmt.Errorf("%w after %s", errWaited, w.timeout))
		defer cancel()
	}
	follower := &follow.Follower{Client: c, Clock: w.clock, Display: newDisplay(w.ErrOut)}
	run, err := follower.Follow(ctx, key)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		fmt.Fprintf(w.ErrOut, "The run goes on.\n  follow it: kubectl zt watch -n %[1]s %[2]s\n  stop it:   kubectl delete ztr -n %[1]s %[2]s\n", key.Namespace, key.Name)
		return usageError(err)
	default:
		return failedError(err)
	}
	if err := w.result(run); err != nil {
		return failedError(err)
	}
	if err := w.nextStep(ctx, c, run); err != nil {
		return failedError(err)
	}
	return verdictError(run)
}

// result prints the report, or with --output the object.
func (w *waiter) result(run *v1alpha1.ZTRun) error {
	if !w.print.OutputFlagSpecified() {
		return report.Write(w.Out, run)
	}
	printer, err := w.print.ToPrinter()
	if err != nil {
		return err
	}
	return printer.PrintObj(run, w.Out)
}

// newDisplay rewrites one line if w is a terminal and prints plain lines if not.
func newDisplay(w io.Writer) follow.Display {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || os.Getenv("TERM") == "dumb" {
		return follow.NewPlain(w)
	}
	return follow.NewTerminal(w, func() int {
		width, _, err := term.GetSize(int(file.Fd()))
		if err != nil || width <= 0 {
			return 80
		}
		return width
	})
}
