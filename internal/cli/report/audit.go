package report

import (
	"fmt"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// maxShown bounds what is printed of an audit's findings; the status has more.
const maxShown = 3

// audits prints what the two audits found, and nothing of those that were not made.
func audits(b *strings.Builder, run *v1alpha1.ZTRun) {
	if e := run.Status.Egress; e != nil && e.Audit != nil {
		fmt.Fprintf(b, "Judged again by the policy: %d requests and tunnels, %d violations\n", e.Audit.Judged, e.Audit.Violations)
		for _, v := range e.Audit.Found[:min(len(e.Audit.Found), maxShown)] {
			fmt.Fprintf(b, "  %s: let out as %s, expected %s\n", safe(v.Request), safe(v.Seen), safe(v.Expected))
		}
	}
	if run.Status.Execution == nil || run.Status.Execution.CacheAudit == nil {
		return
	}
	c := run.Status.Execution.CacheAudit
	fmt.Fprintf(b, "Cached files checked against the lockfiles: %d, rejected %d\n", c.Checked, c.Rejected)
	for _, f := range c.Findings[:min(len(c.Findings), maxShown)] {
		fmt.Fprintf(b, "  %s: %s\n", safe(f.Artifact), safe(string(f.Finding)))
	}
	if c.Problem != "" {
		fmt.Fprintf(b, "  not checked: %s\n", safe(c.Problem))
	}
}
