package report

import (
	"fmt"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// paused is the headline of a run that waits to be resumed: why, what to do, and how to
// go on or give up.
func paused(b *strings.Builder, run *v1alpha1.ZTRun, record *v1alpha1.AttemptRecord) {
	fmt.Fprintf(b, "ztrun %s/%s: paused (%s), attempt %d of at most %d", run.Namespace, run.Name, safe(string(record.Detail)), record.Attempt, v1alpha1.MaxAttempts)
	if record.NodeName != "" {
		fmt.Fprintf(b, " on %s", safe(record.NodeName))
	}
	b.WriteByte('\n')
	if record.Subject != "" {
		fmt.Fprintf(b, "  subject: %s\n", safe(record.Subject))
	}
	if record.Message != "" {
		fmt.Fprintf(b, "  %s\n", safe(record.Message))
	}
	if entry, ok := v1alpha1.Explain(record.Detail); ok {
		fmt.Fprintf(b, "  what to do: %s\n", entry.Remedy)
	}
	fmt.Fprintf(b, "  then:       kubectl zt resume -n %s %s\n", run.Namespace, run.Name)
	fmt.Fprintf(b, "  or give up: kubectl delete ztr -n %s %s\n", run.Namespace, run.Name)
}
