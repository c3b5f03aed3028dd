package verdict

import (
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/junit"
	"github.com/ai-dossier/zt-operator/internal/safetext"
)

// Commands whose results later ones are compared with, as Tree/command.
const (
	BaseSuite            = string(v1alpha1.TreeBase) + "/" + suite
	RegressionTestResult = string(v1alpha1.TreeRegressionTest) + "/" + regression
)

const (
	maxNames = 5
	maxName  = 256
)

// Compare holds the candidate's tests against the trusted tree's. Every trusted test
// that ran, whether it passed or failed there, must pass here; which trusted tests
// those are is the difference between a suite that passes and a regression test that
// fails. Tests that share an id must pass as often as they ran.
//
// A case that stands for a whole file is no test: a regression test that cannot even
// be loaded without the fix has one, and nothing of that name with it. Its tests are
// not known, so then none may be skipped at all.
//
// files are paths that the trusted tree had when it ran. One of them may not run no
// test now if it ran some then: its tests may seem to be there, under the same names,
// in a file of the candidate's own.
func Compare(with string, trusted, candidate []junit.Case, files []string) *v1alpha1.TestComparison {
	c := comparer{result: &v1alpha1.TestComparison{With: with}, now: map[string]map[junit.Status]int{}}
	for _, test := range candidate {
		c.count(test)
	}
	unknown, wasSkipped := false, map[string]int{}
	for _, test := range trusted {
		switch {
		case test.Status == junit.Skipped:
			wasSkipped[test.ID]++
		case test.WholeFile:
			unknown = true
		default:
			c.demand(test.ID)
		}
	}
	if unknown {
		c.refuseSkips(candidate, wasSkipped)
	} else {
		c.refuseEmpty(candidate, wasSkipped, files)
	}
	return c.result
}

type comparer struct {
	result *v1alpha1.TestComparison
	// now counts what the candidate's tests are left to answer demands with.
	now map[string]map[junit.Status]int
}

func (c *comparer) count(test junit.Case) {
	if test.WholeFile {
		return
	}
	if c.now[test.ID] == nil {
		c.now[test.ID] = map[junit.Status]int{}
	}
	c.now[test.ID][test.Status]++
}

// demand wants one pass of a test.
func (c *comparer) demand(id string) {
	c.result.Expected++
	left := c.now[id]
	switch {
	case left[junit.Passed] > 0:
		left[junit.Passed]--
		c.result.Passed++
	case left[junit.Failed] > 0:
		left[junit.Failed]--
		c.result.Failing = named(c.result.Failing, id)
	case left[junit.Skipped] > 0:
		left[junit.Skipped]--
		c.result.Skipped = named(c.result.Skipped, id)
	default:
		c.result.Missing = named(c.result.Missing, id)
	}
}

// refuseSkips names the skipped tests that no demand has named yet and that were not
// skipped before.
func (c *comparer) refuseSkips(candidate []junit.Case, before map[string]int) {
	for _, test := range candidate {
		if test.Status != junit.Skipped || c.now[test.ID][junit.Skipped] == 0 && !test.WholeFile {
			continue
		}
		if before[test.ID] > 0 {
			before[test.ID]--
			continue
		}
		c.result.Skipped = named(c.result.Skipped, test.ID)
	}
}

// refuseEmpty names the trusted files that ran no test now and did before.
func (c *comparer) refuseEmpty(candidate []junit.Case, before map[string]int, files []string) {
	for _, test := range candidate {
		if test.WholeFile && test.Status == junit.Skipped && before[test.ID] == 0 && isOneOf(test.Name, files) {
			c.result.Skipped = named(c.result.Skipped, test.ID)
		}
	}
}

// isOneOf reports whether a name is the path of a file, which a runner may give from
// the root of the file system.
func isOneOf(name string, files []string) bool {
	for _, file := range files {
		if name == file || strings.HasSuffix(name, "/"+file) {
			return true
		}
	}
	return false
}

func named(list *v1alpha1.TestNames, id string) *v1alpha1.TestNames {
	if list == nil {
		list = &v1alpha1.TestNames{}
	}
	list.Count++
	if len(list.Names) < maxNames {
		list.Names = append(list.Names, safetext.Line(id, maxName))
	}
	return list
}
