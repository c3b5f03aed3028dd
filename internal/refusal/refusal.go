package refusal

import (
	"fmt"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// Refusal says why a repository cannot be run. It is terminal: the same tree and
// profile are refused again.
type Refusal struct {
	// Detail is the catalogue code.
	Detail v1alpha1.Detail
	// Subject names the file, field, option or package concerned; already safe to
	// show, at most MaxSubject characters, or empty.
	Subject string
	// Message says what was found and what was expected; it quotes nothing of the
	// repository but the subject.
	Message string
}

// New makes a refusal. subject may be untrusted. message may not: it holds our
// own words only.
func New(detail v1alpha1.Detail, subject, message string) *Refusal {
	return &Refusal{Detail: detail, Subject: Subject(subject), Message: message}
}

// Error implements error.
func (r *Refusal) Error() string {
	if r.Subject == "" {
		return fmt.Sprintf("%s: %s", r.Detail, r.Message)
	}
	return fmt.Sprintf("%s (%s): %s", r.Detail, r.Subject, r.Message)
}
