package proof

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// Facts are what a proof expects or has seen, by name, in words that can be compared.
type Facts map[string]string

// Plus returns these facts with others added or put in their place.
func (f Facts) Plus(others ...Facts) Facts {
	sum := Facts{}
	for _, facts := range append([]Facts{f}, others...) {
		for name, value := range facts {
			sum[name] = value
		}
	}
	return sum
}

// Differences are the facts of expected that were not seen, or seen as something else,
// and the facts seen that nobody expected; sorted.
func Differences(expected, seen Facts) []string {
	var out []string
	for name, want := range expected {
		switch got, ok := seen[name]; {
		case !ok:
			out = append(out, fmt.Sprintf("%s: expected %q, not seen", name, want))
		case got != want:
			out = append(out, fmt.Sprintf("%s: expected %q, saw %q", name, want, got))
		}
	}
	for name, got := range seen {
		if _, ok := expected[name]; !ok {
			out = append(out, fmt.Sprintf("%s: not expected, saw %q", name, got))
		}
	}
	slices.Sort(out)
	return out
}

// Outcome is a run's final answer. Every refusal and failure has a remedy in the
// catalogue.
func Outcome(o *v1alpha1.Outcome) Facts {
	if o == nil {
		return Facts{"outcome": "none"}
	}
	facts := Facts{"outcome": fmt.Sprintf("%s, %s", o.Result, o.Detail)}
	if o.Subject != "" {
		facts["subject"] = o.Subject
	}
	if entry, ok := v1alpha1.Explain(o.Detail); ok {
		facts["remedy in the catalogue"] = yes(entry.Remedy != "")
	}
	return facts
}

// Tree is what one tree was made of and what its commands gave.
func Tree(tree *v1alpha1.TreeStatus) Facts {
	name := string(tree.Name)
	facts := Facts{name + " commit": tree.Commit, name + " tree": tree.Tree}
	if has := tree.NetworkInVerification; has != nil {
		facts[name+" has a network in verification"] = yes(*has)
	}
	for i := range tree.Commands {
		c := &tree.Commands[i]
		facts[name+"/"+c.Name] = Command(c)
		if c.Comparison != nil {
			facts[name+"/"+c.Name+" compared"] = comparison(c.Comparison)
		}
	}
	return facts
}

// Command is what one command gave, such as "passed, exit 0; 3 tests, 0 failures, 0
// skipped".
func Command(c *v1alpha1.CommandStatus) string {
	parts := []string{fmt.Sprintf("%s, %s", c.Classification, ending(c))}
	if c.Network != v1alpha1.NetworkNone {
		parts = append(parts, "network "+string(c.Network))
	}
	var report v1alpha1.ReportCounts
	if c.Report != nil {
		report = *c.Report
	}
	// How many failing tests are planted is the sentinel's own business.
	if s := c.Sentinel; s != nil {
		report.Tests, report.Failures = report.Tests-s.Planted, report.Failures-s.Reported
		parts = append(parts, fmt.Sprintf("tests planted: %s, all reported as failed: %s, %d others failed",
			yes(s.Planted > 0), yes(s.Reported == s.Planted), s.Others))
	}
	if c.Report != nil {
		parts = append(parts, fmt.Sprintf("%d tests, %d failures, %d skipped", report.Tests, report.Failures, report.Skipped))
		if report.Suites < 1 {
			parts = append(parts, "no suite")
		}
	}
	if c.Problem != "" {
		parts = append(parts, c.Problem)
	}
	return strings.Join(parts, "; ")
}

func ending(c *v1alpha1.CommandStatus) string {
	switch {
	case c.TimedOut:
		return "timed out"
	case c.ExitCode != nil:
		return fmt.Sprintf("exit %d", *c.ExitCode)
	}
	return fmt.Sprintf("signal %d", c.Signal)
}

func comparison(c *v1alpha1.TestComparison) string {
	short := c.Missing != nil || c.Failing != nil || c.Skipped != nil
	return fmt.Sprintf("%d of %d tests of %s, others named: %s", c.Passed, c.Expected, c.With, yes(short))
}

// Egress is what Squid let out and what the second judgement of its log found.
func Egress(e *v1alpha1.EgressStatus) Facts {
	if e == nil || e.Audit == nil {
		return Facts{"egress": "not audited"}
	}
	var hosts []string
	for _, host := range e.Hosts {
		hosts = append(hosts, host.Host)
	}
	slices.Sort(hosts)
	return Facts{
		"egress": fmt.Sprintf("some admitted: %s, %d denied, %d redirects, %d violations, log whole: %s",
			yes(e.Admitted > 0), e.Denied, e.Redirects, e.Audit.Violations, yes(!e.Truncated)),
		"egress hosts": strings.Join(hosts, " "),
	}
}

// Cache is what the audit of the mirror's cache found.
func Cache(a *v1alpha1.CacheAudit) Facts {
	if a == nil {
		return Facts{"cache": "not audited"}
	}
	trees := make([]string, len(a.Trees))
	for i, tree := range a.Trees {
		trees[i] = string(tree)
	}
	slices.Sort(trees)
	facts := Facts{
		"cache":            fmt.Sprintf("some files: %s, all admitted: %s", yes(a.Checked > 0), yes(a.Rejected == 0 && a.Admitted == a.Checked)),
		"cache audited at": strings.Join(trees, " "),
	}
	if a.Problem != "" {
		facts["cache problem"] = a.Problem
	}
	return facts
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
