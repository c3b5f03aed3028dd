package verdict

import "github.com/ai-dossier/zt-operator/api/v1alpha1"

// The trees of a regression proof, in order of execution.
var order = []v1alpha1.TreeName{v1alpha1.TreeBase, v1alpha1.TreeRegressionTest, v1alpha1.TreeCandidate}

const (
	suite      = "suite"
	regression = "regression"
	sentinel   = "sentinel"
)

// step is a command that a tree must have run.
type step struct {
	name    string
	phase   v1alpha1.VMPhase
	network v1alpha1.Network
	test    bool
}

// setup lists, for each ecosystem, the commands that come before the tests of every
// tree: the plans of package ecosystem. An ecosystem without an entry has no
// verdict.
var setup = map[v1alpha1.Ecosystem][]step{
	v1alpha1.EcosystemNPM: {
		{name: "install", phase: v1alpha1.VMProvisioning, network: v1alpha1.NetworkPackageProxy},
		{name: "rebuild", phase: v1alpha1.VMVerification, network: v1alpha1.NetworkNone},
	},
	v1alpha1.EcosystemPip: {
		{name: "venv", phase: v1alpha1.VMProvisioning, network: v1alpha1.NetworkNone},
		{name: "install", phase: v1alpha1.VMProvisioning, network: v1alpha1.NetworkPackageProxy},
	},
	v1alpha1.EcosystemUV: {
		{name: "export", phase: v1alpha1.VMProvisioning, network: v1alpha1.NetworkNone},
		{name: "venv", phase: v1alpha1.VMProvisioning, network: v1alpha1.NetworkNone},
		{name: "install", phase: v1alpha1.VMProvisioning, network: v1alpha1.NetworkPackageProxy},
	},
}

// tests lists the test commands of each tree.
var tests = map[v1alpha1.TreeName][]string{
	v1alpha1.TreeBase:           {suite},
	v1alpha1.TreeRegressionTest: {regression},
	v1alpha1.TreeCandidate:      {regression, suite, sentinel},
}

// trusted names, for the candidate's test commands, the result they are compared
// with.
var trusted = map[string]string{suite: BaseSuite, regression: RegressionTestResult, sentinel: RegressionTestResult}

// steps lists what a tree must have run, in order.
func steps(ecosystem v1alpha1.Ecosystem, tree v1alpha1.TreeName) []step {
	all := append([]step(nil), setup[ecosystem]...)
	for _, name := range tests[tree] {
		all = append(all, step{name: name, phase: v1alpha1.VMVerification, network: v1alpha1.NetworkNone, test: true})
	}
	return all
}

func commitOf(proof v1alpha1.Proof, tree v1alpha1.TreeName) string {
	switch tree {
	case v1alpha1.TreeBase:
		return proof.Base.Commit
	case v1alpha1.TreeRegressionTest:
		return proof.RegressionTest.Commit
	default:
		return proof.Candidate.Commit
	}
}
