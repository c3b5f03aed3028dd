package cli

import (
	"errors"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/cli/follow"
)

// The exit codes of kubectl-zt. They are API: scripts decide by them.
const (
	// ExitReproducedAndFixed: the verdict is reproduced_and_fixed.
	ExitReproducedAndFixed = 0
	// ExitOtherVerdict: the run ended with another verdict.
	ExitOtherVerdict = 1
	// ExitRefusedOrFailed: the run was refused or could not be carried out, or it
	// could not be submitted.
	ExitRefusedOrFailed = 2
	// ExitUsageOrTimeout: the command line is wrong, or the wait ended before the
	// run did. The run goes on.
	ExitUsageOrTimeout = 3
	// ExitPaused: the dependencies could not be installed, and the run waits for
	// people to mend that and to resume it.
	ExitPaused = 4
)

const exitCodesHelp = `Exit codes:
  0  the verdict is reproduced_and_fixed (or, without waiting, the run was submitted)
  1  another verdict: not_reproduced, not_fixed, regressed, inconclusive
  2  the run was refused or failed, or could not be submitted
  3  wrong usage, or the wait ended before the run did; the run goes on
  4  the run is paused: mend what is printed, then kubectl zt resume it or delete it`

// exitError carries the exit code of the process. A nil cause was told already.
type exitError struct {
	code  int
	cause error
}

func (e *exitError) Error() string {
	if e.cause == nil {
		return ""
	}
	return e.cause.Error()
}

func (e *exitError) Unwrap() error { return e.cause }

func usageError(err error) error  { return &exitError{code: ExitUsageOrTimeout, cause: err} }
func failedError(err error) error { return &exitError{code: ExitRefusedOrFailed, cause: err} }

// exitCode maps what a command returned. Errors that no command classified are
// cobra's own, about flags and arguments.
func exitCode(err error) int {
	classified := (*exitError)(nil)
	switch {
	case err == nil:
		return ExitReproducedAndFixed
	case errors.As(err, &classified):
		return classified.code
	}
	return ExitUsageOrTimeout
}

// verdictError is nil only for the one verdict that proves the fix.
func verdictError(run *v1alpha1.ZTRun) error {
	if follow.Paused(run) {
		return &exitError{code: ExitPaused}
	}
	if run.Status.Outcome == nil {
		return &exitError{code: ExitRefusedOrFailed}
	}
	switch run.Status.Outcome.Result {
	case v1alpha1.ResultReproducedAndFixed:
		return nil
	case v1alpha1.ResultNotReproduced, v1alpha1.ResultNotFixed, v1alpha1.ResultRegressed, v1alpha1.ResultInconclusive:
		return &exitError{code: ExitOtherVerdict}
	}
	return &exitError{code: ExitRefusedOrFailed}
}
