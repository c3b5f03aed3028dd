package ztrun

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/runtimes"
	"github.com/ai-dossier/zt-operator/internal/verdict"
)

// judge turns the evidence of a finished execution into the outcome. The node agent
// reports what it saw; what that proves is decided here.
func (r *Reconciler) judge(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.executionState() != v1alpha1.ExecutionFinished {
		return ctrl.Result{RequeueAfter: s.timeLeft()}, nil
	}
	if err := proxyTold(s); err != nil {
		return ctrl.Result{}, err
	}
	digest, err := r.copiedDigest(ctx, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.readEgress(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	outcome := decide(s.run, s.execution(), digest)
	if outcome.Detail.Interrupts() {
		return ctrl.Result{}, interrupt(outcome.Detail, "%s", outcome.Message)
	}
	return ctrl.Result{}, &terminal{outcome}
}

// copiedDigest is the digest of the bundle the node agent was given.
func (r *Reconciler) copiedDigest(ctx context.Context, s *scope) (string, error) {
	config := &corev1.ConfigMap{}
	key := types.NamespacedName{Namespace: r.RunNamespace, Name: s.name(v1alpha1.RoleSource)}
	if _, err := r.read(ctx, key, config); err != nil {
		return "", fmt.Errorf("read the copied source: %w", err)
	}
	return config.Annotations[sourceDigestAnnotation], nil
}

// decide is the outcome of a finished execution. It is pure. What verdict.Judge
// cannot see is added here: the bundle that was given, and what Squid logged.
// Whatever does not fit together makes the run inconclusive, never a verdict.
func decide(run *v1alpha1.ZTRun, e *v1alpha1.ExecutionStatus, digest string) v1alpha1.Outcome {
	outcome, final := verdict.Judge(e, run.Spec.Proof)
	switch breach := breached(run.Status.Egress, e.CacheAudit, outcome); {
	case breach != nil:
		return *breach
	case e.Failure != nil:
		return outcome
	case uninstalled(outcome.Detail):
		return explained(outcome, run.Status.Egress, e.CacheAudit)
	case !final:
		return incomplete(outcome.Subject, "the execution finished without evidence for a verdict: "+outcome.Message)
	case e.Source != nil && runtimes.Same(run.Status.Runtime, e.Source.Selected) != nil:
		return incomplete("runtime", "the node agent executed under another runtime than the run's record has")
	case e.Source != nil && e.Source.Digest != digest:
		return incomplete("source", fmt.Sprintf("the node agent read a bundle with digest %s, it was given %s", e.Source.Digest, digest))
	case outcome.Result == v1alpha1.ResultReproducedAndFixed:
		if doubt := unaudited(run.Status.Egress, e); doubt != nil {
			return *doubt
		}
	}
	return outcome
}

func isVerdict(result v1alpha1.Result) bool {
	switch result {
	case v1alpha1.ResultReproducedAndFixed, v1alpha1.ResultNotReproduced, v1alpha1.ResultNotFixed, v1alpha1.ResultRegressed:
		return true
	}
	return false
}

func incomplete(subject, message string) v1alpha1.Outcome {
	return v1alpha1.Outcome{
		Result: v1alpha1.ResultInconclusive, Detail: v1alpha1.DetailEvidenceIncomplete, Subject: subject, Message: message,
	}
}

// readEgress sums up Squid's log while its pod still exists. A log that stays
// unreadable leaves the sum absent, and decide does without it.
func (r *Reconciler) readEgress(ctx context.Context, s *scope) error {
	if !s.proxyReady() || s.run.Status.Egress != nil || s.squid == nil {
		return nil
	}
	egress, err := r.egress(ctx, s)
	if err == nil {
		s.run.Status.Egress = egress
		return nil
	}
	problem := err.Error()
	since := s.now
	if at := s.execution().FinishedAt; at != nil {
		since = at.Time
	}
	if s.now.Sub(since) < logBound {
		return hold("", v1alpha1.DetailRunning, 2*time.Second, "Squid's log is not readable yet: %s", problem)
	}
	// A sum without an audit is still worth showing.
	s.run.Status.Egress = egress
	return nil
}
