package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
	"github.com/ai-dossier/zt-operator/internal/safetext"
	"github.com/ai-dossier/zt-operator/nodeagent/broker"
	"github.com/ai-dossier/zt-operator/nodeagent/image"
)

const maxMessage = 1024

// Failure is an attempt that ended without full evidence.
type Failure struct {
	Detail  v1alpha1.Detail
	Subject string
	Err     error
}

// Error returns the detail and its cause.
func (f *Failure) Error() string { return fmt.Sprintf("%s: %v", f.Detail, f.Err) }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

func fail(detail v1alpha1.Detail, err error) error {
	if err == nil {
		return nil
	}
	return &Failure{Detail: detail, Err: err}
}

// Causes of a cancelled attempt; they are the context's cause.
var (
	// ErrInterrupted: the agent stops, or the attempt was taken away from it.
	ErrInterrupted = errors.New("the attempt was interrupted")
	// ErrRunTimedOut: the run's own wall-clock limit ran out.
	ErrRunTimedOut = errors.New("the run's time limit ran out")
)

// OutcomeOf says in the API's terms why an attempt ended with err. The context is
// the attempt's own: whatever failed after it was cancelled failed because of that.
func OutcomeOf(ctx context.Context, err error) v1alpha1.Outcome {
	detail, subject := detailOf(ctx, err)
	return v1alpha1.Outcome{
		Result:  v1alpha1.ResultOf(detail),
		Detail:  detail,
		Subject: safetext.Line(subject, 214),
		Message: safetext.Line(err.Error(), maxMessage),
	}
}

func detailOf(ctx context.Context, err error) (v1alpha1.Detail, string) {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrRunTimedOut), errors.Is(err, ErrRunTimedOut):
		return v1alpha1.DetailRunTimedOut, ""
	case cause != nil, errors.Is(err, ErrInterrupted):
		return v1alpha1.DetailExecutionInterrupted, ""
	}
	var refusal *ecosystem.Refusal
	if errors.As(err, &refusal) {
		return refusal.Detail, refusal.Subject
	}
	var unusable *image.Error
	if errors.As(err, &unusable) {
		return unusable.Detail, ""
	}
	var taint *broker.TaintError
	if errors.As(err, &taint) {
		return v1alpha1.DetailBrokerTainted, ""
	}
	var failure *Failure
	if errors.As(err, &failure) {
		return failure.Detail, failure.Subject
	}
	return v1alpha1.DetailNodeError, ""
}
