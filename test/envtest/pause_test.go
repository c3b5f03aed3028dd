package envtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/cli/follow"
	"github.com/ai-dossier/zt-operator/test/builders"
)

// unansweredLog is of a registry whose certificate Squid did not trust.
const unansweredLog = `{"v":1,"start":"6.13"}
{"v":1,"t":1767323045.123,"ms":12,"src":"10.244.0.6","method":"GET","url":"https://registry.npmjs.org/semver","result":"TCP_MISS","status":503,"up_status":"-","reply_bytes":1234,"dst":"104.16.0.1","bump":"bump","sni":"registry.npmjs.org","rule":"allow_npm","err":"ERR_SECURE_CONNECT_FAIL","err_detail":"X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY"}
`

// toUnanswered has the first tree's installation fail for want of a registry.
func (p *play) toUnanswered() {
	p.t.Helper()
	p.toRunning()
	logs.set(p.podName(v1alpha1.RoleSquid), unansweredLog)
	e := builders.Execution(p.run().Status.Attempt, bundleDigest).Tree(v1alpha1.TreeBase, builders.BaseCommit).Finished().Object()
	tree := &e.Trees[0]
	tree.NetworkInVerification, tree.Commands = nil, tree.Commands[:1]
	tree.Commands[0].Classification, tree.Commands[0].ExitCode = v1alpha1.ClassFailed, ptr.To[int32](1)
	p.agent(e)
}

// untilPaused waits for the pause, playing the kubelet.
func (p *play) untilPaused() *v1alpha1.ZTRun {
	p.t.Helper()
	p.eventually("the run is paused", func() (bool, string) {
		p.reap(p.t.Context())
		run := p.run()
		return run.Status.Phase == v1alpha1.PhasePaused, fmt.Sprintf("phase %s, outcome %+v", run.Status.Phase, run.Status.Outcome)
	})
	if left := p.objects(p.t.Context()); len(left) > 0 {
		p.t.Errorf("a paused run left %v", left)
	}
	run := p.run()
	for _, name := range []string{v1alpha1.ConditionPaused, v1alpha1.ConditionTornDown} {
		if !meta.IsStatusConditionTrue(run.Status.Conditions, name) {
			p.t.Errorf("%s", conditionText(run, name))
		}
	}
	return run
}

// resume annotates the run as kubectl annotate does.
func (p *play) resume(attempt int32) {
	p.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"%d"}}}`, v1alpha1.ResumeAnnotation, attempt)
	if err := api.Patch(p.t.Context(), p.run(), client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		p.t.Fatal(err)
	}
}

func (p *play) untilAttempt(attempt int32) {
	p.t.Helper()
	p.eventually(fmt.Sprintf("attempt %d", attempt), func() (bool, string) {
		run := p.run()
		return run.Status.Attempt == attempt, fmt.Sprintf("attempt %d, phase %s", run.Status.Attempt, run.Status.Phase)
	})
}

func TestAPausedRunIsResumedAndProven(t *testing.T) {
	p := start(t, func(b *builders.RunBuilder) { b.TTL(0) })
	p.toUnanswered()
	run := p.untilPaused()
	text := conditionText(run, v1alpha1.ConditionPaused)
	for _, want := range []string{"RegistryCertificateUntrusted", "kubectl zt resume -n " + p.key.Namespace + " fix", "zt.ai-dossier.org/resume=1"} {
		if !strings.Contains(text, want) {
			t.Errorf("the pause does not say %q: %s", want, text)
		}
	}
	if run.Status.Outcome != nil || !follow.Paused(run) || follow.Done(run) {
		t.Errorf("outcome %+v, paused %v, done %v", run.Status.Outcome, follow.Paused(run), follow.Done(run))
	}
	recorded := *run.Status.Runtime

	p.resume(1)
	p.untilAttempt(2)
	p.toUnanswered()
	run = p.untilPaused()
	if len(run.Status.Attempts) != 2 || run.Status.Attempt != 2 {
		t.Errorf("attempt %d of %+v", run.Status.Attempt, run.Status.Attempts)
	}

	p.resume(2)
	p.untilAttempt(3)
	p.toRunning()
	if now := p.run().Status.Runtime; now == nil || *now != recorded {
		t.Errorf("the recorded runtime was %+v and is %+v", recorded, now)
	}
}

func TestAPausedRunStaysUntilItIsDeleted(t *testing.T) {
	p := start(t, func(b *builders.RunBuilder) { b.TTL(0) })
	p.toUnanswered()
	before := p.untilPaused()
	p.resume(7)
	poked := p.run().ResourceVersion
	// A pass over another run of the same namespace is one that this one could have had.
	other := &play{t: t, key: p.key}
	other.key.Name = "second"
	other.createBundle()
	other.createRun()
	other.until(v1alpha1.ConditionAdmitted, metav1.ConditionTrue, v1alpha1.DetailAdmitted)
	after := p.run()
	if after.ResourceVersion != poked || after.Status.Attempt != before.Status.Attempt {
		t.Errorf("a paused run was written: %s became %s, attempt %d", poked, after.ResourceVersion, after.Status.Attempt)
	}
	p.remove()
	if err := api.Get(context.Background(), p.key, after); !apierrors.IsNotFound(err) {
		t.Errorf("the deleted run is still there: %v", err)
	}
}

func TestASelectionThatTheProfileDoesNotHaveIsRefused(t *testing.T) {
	p := start(t)
	p.toPlaced()
	p.agent(builders.Execution(1, bundleDigest).Select(func(r *v1alpha1.RuntimeRecord) { r.Image = builders.Image("other", "9").Image }).Object())
	p.eventually("the outcome", func() (bool, string) {
		run := p.run()
		return run.Status.Outcome != nil, conditionText(run, v1alpha1.ConditionSourceRead)
	})
	// The agent stops when it sees the outcome.
	p.confirmClean(t.Context())
	p.untilComplete(v1alpha1.ResultUnsupportedEnvironment, v1alpha1.DetailRecordMismatch)
}

// TestRecordsAreNotRewritten asks the API server as an administrator would: what was
// recorded of a run cannot be changed, not even with every right.
func TestRecordsAreNotRewritten(t *testing.T) {
	p := start(t)
	p.toUnanswered()
	p.untilPaused()
	for name, change := range map[string]func(*v1alpha1.ZTRunStatus){
		"another runtime":            func(s *v1alpha1.ZTRunStatus) { s.Runtime.Version = "99.0.0" },
		"no runtime":                 func(s *v1alpha1.ZTRunStatus) { s.Runtime = nil },
		"another end of the attempt": func(s *v1alpha1.ZTRunStatus) { s.Attempts[0].End = v1alpha1.AttemptInterrupted },
		"another reason of its end":  func(s *v1alpha1.ZTRunStatus) { s.Attempts[0].Detail = v1alpha1.DetailInstallFailed },
		"no attempts":                func(s *v1alpha1.ZTRunStatus) { s.Attempts = nil },
		"another attempt's record in its place": func(s *v1alpha1.ZTRunStatus) {
			s.Attempts = slices.Clone(s.Attempts)
			s.Attempts[0].Attempt = 2
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := p.run()
			change(&run.Status)
			if err := api.Status().Update(t.Context(), run); !apierrors.IsInvalid(err) {
				t.Errorf("the API server answered %v, want that it is invalid", err)
			}
		})
	}
}
