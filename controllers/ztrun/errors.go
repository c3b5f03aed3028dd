package ztrun

import (
	"fmt"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// terminal ends the run with an outcome; the next pass tears it down.
type terminal struct{ outcome v1alpha1.Outcome }

func (e *terminal) Error() string {
	return fmt.Sprintf("the run ends: %s/%s: %s", e.outcome.Result, e.outcome.Detail, e.outcome.Message)
}

// refuse ends the run with a class and a reason.
func refuse(result v1alpha1.Result, detail v1alpha1.Detail, subject, format string, args ...any) error {
	return &terminal{v1alpha1.Outcome{
		Result: result, Detail: detail, Subject: subject, Message: fmt.Sprintf(format, args...),
	}}
}

// waiting holds the run until the world changes. The condition shows why.
type waiting struct {
	condition string
	detail    v1alpha1.Detail
	message   string
	// unknown makes the condition Unknown instead of False.
	unknown bool
	// after asks for another pass even if nothing is seen to change; 0 does not.
	after time.Duration
}

func (e *waiting) Error() string {
	return fmt.Sprintf("waiting for %s: %s: %s", e.condition, e.detail, e.message)
}

// hold waits on a condition.
func hold(condition string, detail v1alpha1.Detail, after time.Duration, format string, args ...any) error {
	return &waiting{condition: condition, detail: detail, after: after, message: fmt.Sprintf(format, args...)}
}

// interrupted ends the attempt, not the run: what happened says nothing about the
// repository.
type interrupted struct {
	detail  v1alpha1.Detail
	message string
}

func (e *interrupted) Error() string {
	return fmt.Sprintf("the attempt was interrupted: %s: %s", e.detail, e.message)
}

func interrupt(detail v1alpha1.Detail, format string, args ...any) error {
	return &interrupted{detail: detail, message: fmt.Sprintf(format, args...)}
}
