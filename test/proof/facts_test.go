package proof

import (
	"reflect"
	"slices"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/test/builders"
)

func TestDifferences(t *testing.T) {
	expected := Facts{"suite": "passed", "outcome": "fixed"}
	for name, tc := range map[string]struct {
		seen Facts
		want []string
	}{
		"the same": {Facts{"suite": "passed", "outcome": "fixed"}, nil},
		"another value and one that is missing": {Facts{"suite": "failed"}, []string{
			`outcome: expected "fixed", not seen`, `suite: expected "passed", saw "failed"`,
		}},
		"one too many": {expected.Plus(Facts{"extra": "failed"}), []string{`extra: not expected, saw "failed"`}},
	} {
		if got := Differences(expected, tc.seen); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// Each of these is a change that no proof may overlook.
func TestFactsChangeWithWhatTheyAreOf(t *testing.T) {
	facts := func(e *v1alpha1.ExecutionStatus) Facts {
		sum := Cache(e.CacheAudit)
		for i := range e.Trees {
			sum = sum.Plus(Tree(&e.Trees[i]))
		}
		return sum
	}
	proven := builders.Execution(1, "sha256:00").Proven().Finished().Object()
	for name, change := range map[string]func(*v1alpha1.ExecutionStatus){
		"the class of a command":         func(e *v1alpha1.ExecutionStatus) { e.Trees[0].Commands[0].Classification = v1alpha1.ClassFailed },
		"its exit status":                func(e *v1alpha1.ExecutionStatus) { e.Trees[0].Commands[0].ExitCode = ptr.To[int32](3) },
		"a time limit":                   func(e *v1alpha1.ExecutionStatus) { e.Trees[0].Commands[0].TimedOut = true },
		"a signal":                       func(e *v1alpha1.ExecutionStatus) { e.Trees[0].Commands[0].ExitCode = nil },
		"the network of a command":       func(e *v1alpha1.ExecutionStatus) { e.Trees[0].Commands[2].Network = v1alpha1.NetworkPackageProxy },
		"the number of tests":            func(e *v1alpha1.ExecutionStatus) { e.Trees[0].Commands[2].Report.Tests++ },
		"the number of failures":         func(e *v1alpha1.ExecutionStatus) { e.Trees[1].Commands[2].Report.Failures++ },
		"no suite":                       func(e *v1alpha1.ExecutionStatus) { e.Trees[0].Commands[2].Report.Suites = 0 },
		"a planted test nobody reported": func(e *v1alpha1.ExecutionStatus) { e.Trees[2].Commands[4].Sentinel.Reported-- },
		"nothing planted":                func(e *v1alpha1.ExecutionStatus) { *e.Trees[2].Commands[4].Sentinel = v1alpha1.SentinelStatus{} },
		"a failure beside the planted":   func(e *v1alpha1.ExecutionStatus) { e.Trees[2].Commands[4].Report.Failures++ },
		"a compared test":                func(e *v1alpha1.ExecutionStatus) { e.Trees[2].Commands[3].Comparison.Passed-- },
		"a missing test": func(e *v1alpha1.ExecutionStatus) {
			e.Trees[2].Commands[3].Comparison.Missing = &v1alpha1.TestNames{Count: 1}
		},
		"a command less":                func(e *v1alpha1.ExecutionStatus) { e.Trees[2].Commands = e.Trees[2].Commands[:4] },
		"a tree less":                   func(e *v1alpha1.ExecutionStatus) { e.Trees = e.Trees[:2] },
		"another commit":                func(e *v1alpha1.ExecutionStatus) { e.Trees[0].Commit = builders.CandidateCommit },
		"another tree":                  func(e *v1alpha1.ExecutionStatus) { e.Trees[0].Tree = builders.Commit("0") },
		"a network":                     func(e *v1alpha1.ExecutionStatus) { e.Trees[0].NetworkInVerification = ptr.To(true) },
		"nobody looked for a network":   func(e *v1alpha1.ExecutionStatus) { e.Trees[0].NetworkInVerification = nil },
		"a file that no lockfile names": func(e *v1alpha1.ExecutionStatus) { e.CacheAudit.Rejected++ },
		"an empty cache":                func(e *v1alpha1.ExecutionStatus) { e.CacheAudit.Checked, e.CacheAudit.Admitted = 0, 0 },
		"a tree without an audit":       func(e *v1alpha1.ExecutionStatus) { e.CacheAudit.Trees = e.CacheAudit.Trees[:2] },
		"an audit that failed":          func(e *v1alpha1.ExecutionStatus) { e.CacheAudit.Problem = "connection refused" },
		"no audit":                      func(e *v1alpha1.ExecutionStatus) { e.CacheAudit = nil },
	} {
		changed := proven.DeepCopy()
		change(changed)
		if reflect.DeepEqual(facts(proven), facts(changed)) {
			t.Errorf("%s changes no fact", name)
		}
	}
}

func TestEgressChangesWithWhatWasLetOut(t *testing.T) {
	clean := v1alpha1.EgressStatus{Admitted: 9, Hosts: []v1alpha1.HostCount{{Host: "pypi.org", Count: 9}}, Audit: &v1alpha1.EgressAudit{Judged: 9}}
	for name, change := range map[string]func(*v1alpha1.EgressStatus){
		"nothing admitted":   func(e *v1alpha1.EgressStatus) { e.Admitted = 0 },
		"a denied request":   func(e *v1alpha1.EgressStatus) { e.Denied = 1 },
		"a redirect":         func(e *v1alpha1.EgressStatus) { e.Redirects = 1 },
		"another host":       func(e *v1alpha1.EgressStatus) { e.Hosts = append(e.Hosts, v1alpha1.HostCount{Host: "example.com"}) },
		"a violation":        func(e *v1alpha1.EgressStatus) { e.Audit.Violations = 1 },
		"no second judgment": func(e *v1alpha1.EgressStatus) { e.Audit = nil },
		"half a log":         func(e *v1alpha1.EgressStatus) { e.Truncated = true },
	} {
		changed := clean.DeepCopy()
		change(changed)
		if reflect.DeepEqual(Egress(&clean), Egress(changed)) {
			t.Errorf("%s changes no fact", name)
		}
	}
	if reflect.DeepEqual(Egress(&clean), Egress(nil)) {
		t.Error("no log at all changes no fact")
	}
}

func TestOutcomeNamesAll(t *testing.T) {
	want := Facts{"outcome": "provisioning_failed, artifact_hash_mismatch", "subject": "a.whl", "remedy in the catalogue": "yes"}
	got := Outcome(&v1alpha1.Outcome{Result: v1alpha1.ResultProvisioningFailed, Detail: v1alpha1.DetailArtifactHashMismatch, Subject: "a.whl"})
	if d := Differences(want, got); d != nil {
		t.Error(d)
	}
	if d := Differences(want, Outcome(nil)); d == nil {
		t.Error("no outcome is as good as one")
	}
}
