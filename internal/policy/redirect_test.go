package policy

import (
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

func withBudget(n int32) v1alpha1.ProxyPolicySpec {
	spec := Default()
	spec.MaxRedirects = n
	return spec
}

func TestARedirectBudgetAdmitsOnlyLocationsOnTheRegistries(t *testing.T) {
	e, err := NewEvaluator(withBudget(2), SquidParams{MirrorIP: "10.0.0.7"})
	if err != nil {
		t.Fatal(err)
	}
	for location, want := range map[string]string{
		"https://pypi.org/simple/pytest/":        "",
		"https://pypi.org":                       "",
		"https://pypi.org:443/simple/pytest/":    "",
		"/simple/pytest/":                        "",
		"/":                                      "",
		"":                                       RuleRedirectOff,
		"//evil.test/x":                          RuleRedirectOff,
		`/\evil.test/x`:                          RuleRedirectOff,
		"simple/pytest/":                         RuleRedirectOff,
		"https://evil.test/x":                    RuleRedirectOff,
		"https://pypi.org@evil.test/x":           RuleRedirectOff,
		"https://pypi.org:443@evil.test/x":       RuleRedirectOff,
		"https://pypi.org.evil.test/x":           RuleRedirectOff,
		"https://user@pypi.org/x":                RuleRedirectOff,
		"https://pypi.org:8443/x":                RuleRedirectOff,
		"https://PYPI.org/x":                     RuleRedirectOff,
		"http://pypi.org/x":                      RuleRedirectOff,
		"https://pypi.org/x, https://evil.test/": RuleRedirectOff,
		"https://pypi.org/x y":                   RuleRedirectOff,
		"https://pypi.org/\x01":                  RuleRedirectOff,
		"https://pypi.org?x":                     RuleRedirectOff,
		"https://169.254.169.254/":               RuleRedirectOff,
	} {
		if got := e.EvaluateReply(Reply{Status: 302, Location: location}); got.Rule != want || got.Allowed != (want == "") {
			t.Errorf("%q: %+v, want %q", location, got, want)
		}
	}
	for hops, want := range map[int]string{0: "", 1: "", 2: RuleRedirect, 3: RuleRedirect} {
		if got := e.EvaluateReply(Reply{Status: 301, Location: "/a", Hops: hops}); got.Rule != want {
			t.Errorf("after %d hops: %+v, want %q", hops, got, want)
		}
	}
}

func TestARedirectBudgetIsRenderedAsALocationCheck(t *testing.T) {
	without, err := RenderSquid(Default(), SquidParams{MirrorIP: "10.0.0.7"})
	if err != nil {
		t.Fatal(err)
	}
	with, err := RenderSquid(withBudget(1), SquidParams{MirrorIP: "10.0.0.7"})
	if err != nil {
		t.Fatal(err)
	}
	const plain, checked = "http_reply_access deny redirect_status rule_redirect_reply\n", "http_reply_access deny redirect_status !registry_location rule_redirect_off_registry\n"
	if !strings.Contains(without, plain) || strings.Contains(without, "rep_header") {
		t.Error("without a budget not every redirect is denied")
	}
	if strings.Contains(with, plain) || !strings.Contains(with, checked) {
		t.Error("a budget does not render the check of where a redirect leads")
	}
	if !strings.Contains(with, "acl registry_location rep_header Location "+locationPattern(normal(Default()).Hosts)+"\n") {
		t.Error("the check is not the evaluator's own pattern")
	}
}

func TestARedirectBudgetIsBounded(t *testing.T) {
	for budget, valid := range map[int32]bool{-1: false, 0: true, 5: true, 6: false} {
		problems := Validate(withBudget(budget))
		if (len(problems) == 0) != valid {
			t.Errorf("a budget of %d: %v", budget, problems)
		}
		for _, p := range problems {
			if p.Field != "spec.maxRedirects" || p.Detail != v1alpha1.DetailPolicyWidensCeiling {
				t.Errorf("a budget of %d: %+v", budget, p)
			}
		}
	}
	if Digest(Default()) == Digest(withBudget(1)) {
		t.Error("a budget does not change the digest")
	}
}
