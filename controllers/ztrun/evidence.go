package ztrun

import (
	"fmt"
	"path"
	"slices"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/lockindex"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

// breached is the outcome of a run in which something got past the policy or the
// lockfiles, or nil. It stands above every other: nothing such a run shows counts. Only
// a package manager that refused the files itself tells more than that they differ.
func breached(egress *v1alpha1.EgressStatus, cache *v1alpha1.CacheAudit, outcome v1alpha1.Outcome) *v1alpha1.Outcome {
	switch {
	case egress != nil && egress.Audit != nil && egress.Audit.Violations > 0:
		return &v1alpha1.Outcome{
			Result: v1alpha1.ResultExecutionFailed, Detail: v1alpha1.DetailEgressViolation, Subject: "egress",
			Message: fmt.Sprintf("Squid let out requests that the policy does not admit: %d; first: %s", egress.Audit.Violations, firstViolation(egress.Audit)),
		}
	case cache != nil && cache.Rejected > 0 && !uninstalled(outcome.Detail):
		return &v1alpha1.Outcome{
			Result: v1alpha1.ResultExecutionFailed, Detail: v1alpha1.DetailCacheAuditFailed, Subject: "cacheAudit",
			Message: fmt.Sprintf("the mirror held files that no lockfile of the run names with these bytes: %d; first: %s", cache.Rejected, firstFinding(cache)),
		}
	}
	return nil
}

// uninstalled is true of an installation that the package manager itself ended.
func uninstalled(detail v1alpha1.Detail) bool {
	return detail == v1alpha1.DetailInstallFailed || detail == v1alpha1.DetailArtifactHashMismatch
}

func firstViolation(a *v1alpha1.EgressAudit) string {
	if len(a.Found) == 0 {
		return "not recorded"
	}
	v := a.Found[0]
	return fmt.Sprintf("%s, seen as %s, expected %s", v.Request, v.Seen, v.Expected)
}

func firstFinding(a *v1alpha1.CacheAudit) string {
	if len(a.Findings) == 0 {
		return "not recorded"
	}
	return fmt.Sprintf("%s, %s", a.Findings[0].Artifact, a.Findings[0].Finding)
}

// unaudited is the outcome of a proof whose provisioning was not wholly audited, or
// nil.
func unaudited(egress *v1alpha1.EgressStatus, e *v1alpha1.ExecutionStatus) *v1alpha1.Outcome {
	doubt := func(o v1alpha1.Outcome) *v1alpha1.Outcome { return &o }
	switch {
	case egress == nil:
		return doubt(incomplete("egress", "Squid's access log of the attempt could not be read, so it is not known what the run fetched; run it again"))
	case egress.Audit == nil:
		return doubt(incomplete("egress", "Squid's access log could not be judged by the policy that was applied; run it again"))
	case egress.Truncated:
		return doubt(incomplete("egress", "Squid's access log is incomplete or longer than what is judged, so not every request was; lock fewer packages, or run it again"))
	}
	if problem := cacheUnaudited(e); problem != "" {
		return doubt(v1alpha1.Outcome{
			Result: v1alpha1.ResultInconclusive, Detail: v1alpha1.DetailCacheAuditMissing, Subject: "cacheAudit", Message: problem,
		})
	}
	return nil
}

// cacheUnaudited says which provisioning no audit of the mirror's cache followed.
func cacheUnaudited(e *v1alpha1.ExecutionStatus) string {
	audit := e.CacheAudit
	switch {
	case audit == nil:
		return "the mirror's cache was never checked against the lockfiles"
	case audit.Problem != "":
		return "the mirror's cache could not be checked: " + audit.Problem
	case audit.Admitted != audit.Checked:
		return "the audit of the mirror's cache does not add up"
	}
	for i := range e.Trees {
		if name := e.Trees[i].Name; installed(e.Trees[i]) && e.Trees[i].State != v1alpha1.TreeCancelled && !slices.Contains(audit.Trees, name) {
			return fmt.Sprintf("the mirror's cache was not checked after tree %s was provisioned", name)
		}
	}
	return ""
}

// explained names what kept an installation from its packages, if the evidence beside
// the command shows it.
func explained(o v1alpha1.Outcome, egress *v1alpha1.EgressStatus, cache *v1alpha1.CacheAudit) v1alpha1.Outcome {
	switch file, mismatch := otherBytes(cache); {
	case mismatch:
		o.Detail = v1alpha1.DetailArtifactHashMismatch
		if subject := refusal.Subject(path.Base(file)); subject != "" {
			o.Message, o.Subject = o.Subject+": "+o.Message, subject
		}
		o.Message += fmt.Sprintf("; the mirror held %s with other bytes than the lockfile names", file)
	case cache != nil && cache.Rejected > 0:
		o.Message += fmt.Sprintf("; the mirror held files that no lockfile names: %d; first: %s", cache.Rejected, firstFinding(cache))
	case o.Detail == v1alpha1.DetailArtifactHashMismatch:
	case egress != nil && len(egress.Failures) > 0:
		o.Detail = egress.Failures[0].Reason
		o.Message += "; requests that the registries failed: " + failuresText(egress.Failures)
	case egress != nil && egress.Denied > 0:
		o.Detail = v1alpha1.DetailRequestDenied
		o.Message += fmt.Sprintf("; requests that the policy denied: %d", egress.Denied)
	}
	return o
}

// otherBytes is the first file of the mirror's cache whose digest is another one than
// the lockfiles name.
func otherBytes(cache *v1alpha1.CacheAudit) (file string, found bool) {
	if cache == nil {
		return "", false
	}
	for _, f := range cache.Findings {
		if string(f.Finding) == string(lockindex.HashMismatch) {
			return f.Artifact, true
		}
	}
	return "", false
}
