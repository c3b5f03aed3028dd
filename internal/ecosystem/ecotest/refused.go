package ecotest

import (
	"errors"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

// Secret stands in hostile input where a password would; no refusal may repeat it.
const Secret = "secret"

// Refused fails the test unless err refuses with this detail and subject, the detail
// stands in the catalogue as an unsupported environment, and Secret is not echoed.
func Refused(t testing.TB, detail v1alpha1.Detail, subject string, err error) {
	t.Helper()
	var r *refusal.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("not refused: %v", err)
	}
	if r.Detail != detail || r.Subject != subject {
		t.Errorf("got %s (%s), want %s (%s)", r.Detail, r.Subject, detail, subject)
	}
	if entry, ok := v1alpha1.Explain(r.Detail); !ok || entry.Result != v1alpha1.ResultUnsupportedEnvironment {
		t.Errorf("%s is not in the catalogue as an unsupported environment", r.Detail)
	}
	if strings.Contains(err.Error(), Secret) {
		t.Errorf("the repository's text is echoed: %v", err)
	}
}

// Judged is Refused, but for an empty detail, which wants no error at all.
func Judged(t testing.TB, detail v1alpha1.Detail, subject string, err error) {
	t.Helper()
	switch {
	case detail != "":
		Refused(t, detail, subject, err)
	case err != nil:
		t.Error(err)
	}
}

// OnlyRefusals fails the test if err is neither nil nor a refusal, as for fuzzing.
func OnlyRefusals(t testing.TB, err error) {
	t.Helper()
	var r *refusal.Refusal
	if err != nil && !errors.As(err, &r) {
		t.Fatalf("an error that is no refusal: %v", err)
	}
}
