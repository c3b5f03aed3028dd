package policy

import (
	"os"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

func audit(t *testing.T, spec v1alpha1.ProxyPolicySpec, mirror, log string) v1alpha1.EgressAudit {
	t.Helper()
	e, err := NewEvaluator(spec, SquidParams{MirrorIP: mirror})
	if err != nil {
		t.Fatal(err)
	}
	result, err := e.Audit(strings.NewReader(log), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// realPolicy is the one that the logs in testdata were written under.
func realPolicy() v1alpha1.ProxyPolicySpec {
	spec := Default()
	for _, name := range []string{"untrusted", "nowhere", "shared-a", "shared-b"} {
		spec.Hosts = append(spec.Hosts, v1alpha1.PolicyHost{
			Name: strings.ReplaceAll(name, "-", "_"), Host: name + ".test",
			Ecosystems: []v1alpha1.Ecosystem{v1alpha1.EcosystemNPM}, Paths: []v1alpha1.PathPattern{"^/x$"},
		})
	}
	return spec
}

func TestWhatSquidAdmittedTheEvaluatorAdmits(t *testing.T) {
	for _, name := range []string{"squid-5.log", "squid-6.log"} {
		log, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if got := audit(t, realPolicy(), "10.231.0.10", string(log)); got.Violations != 0 || got.Judged < 50 {
			t.Errorf("%s: %+v", name, got)
		}
		// The same log under a policy that it was not written under.
		got := audit(t, realPolicy(), "10.231.0.99", string(log))
		if got.Violations != got.Judged || len(got.Found) != maxViolations || got.Found[0].Expected != RuleSource {
			t.Errorf("%s, another mirror: %+v", name, got)
		}
	}
}

func TestAnAdmittedEntryThatThePolicyDeniesIsAViolation(t *testing.T) {
	const url = "https://registry.npmjs.org/semver"
	for name, tc := range map[string]struct{ entry, judged string }{
		"an admitted request":                 {line(), ""},
		"a denied request is none":            {line(url, "https://evil.test/x", `"rule":"allow_npm"`, `"rule":"host_not_allowed"`, `"up_status":"200"`, `"up_status":"-"`), ""},
		"a denied request that was answered":  {line(url, "https://evil.test/x", `"rule":"allow_npm"`, `"rule":"host_not_allowed"`), RuleHostMismatch},
		"another path":                        {line(url, "https://registry.npmjs.org/-/whoami"), RulePath},
		"a query":                             {line(url, url+"?x"), RuleQuery},
		"another port":                        {line(url, "https://registry.npmjs.org:8443/semver"), RulePort},
		"plain http":                          {line(url, "http://registry.npmjs.org:443/semver"), RuleScheme},
		"another host":                        {line(url, "https://evil.test/semver", `"sni":"registry.npmjs.org"`, `"sni":"evil.test"`), RuleHost},
		"another host than the tunnel's":      {line(url, "https://pypi.org/simple/a/"), RuleHostMismatch},
		"a failed request to another path":    {line(url, "https://registry.npmjs.org/-/whoami", `"status":200`, `"status":503`), RulePath},
		"a redirect that was handed on":       {line(`"status":200`, `"status":302`, `"up_status":"200"`, `"up_status":"302"`), RuleRedirect},
		"a denied redirect of a good request": {line(`"status":200`, `"status":403`, `"up_status":"200"`, `"up_status":"302"`, `"rule":"allow_npm"`, `"rule":"redirect_reply"`), ""},
		"a denied redirect of a bad request":  {line(url, "https://registry.npmjs.org/-/whoami", `"status":200`, `"status":403`, `"up_status":"200"`, `"up_status":"302"`, `"rule":"allow_npm"`, `"rule":"redirect_reply"`), RulePath},
		"an answer without a rule":            {line(`"rule":"allow_npm"`, `"rule":"-"`), "allow_npm"},
		"a line that cannot be read":          {`{"v":1,"method":` + "\n", ruleUnreadable},
		"a line over the limit":               {`{"v":1,"url":"` + strings.Repeat("a", maxEntryBytes) + `"}` + "\n", ruleUnreadable},
		"a line that is not Squid's":          {"squid said something\n", ""},
		"an address":                          {line(url, "https://[::1]/semver", `"sni":"registry.npmjs.org"`, `"sni":"-"`), RuleIPLiteral},
		"a private destination":               {line(`"dst":"192.0.2.1"`, `"dst":"10.0.0.1"`), RuleDestination},
		"another method":                      {line(`"method":"GET"`, `"method":"PUT"`), RuleMethod},
		"another client":                      {line(`"src":"10.0.0.7"`, `"src":"10.0.0.8"`), RuleSource},
		"the wrong rule":                      {line(`"rule":"allow_npm"`, `"rule":"allow_pypi"`), "allow_npm"},
		"a tunnel to another host":            {line(`"method":"GET"`, `"method":"CONNECT"`, url, "evil.test:443", `"rule":"allow_npm"`, `"rule":"connect_allowed"`), RuleHost},
		"a tunnel with another server name":   {line(`"method":"GET"`, `"method":"CONNECT"`, url, "registry.npmjs.org:443", `"rule":"allow_npm"`, `"rule":"connect_allowed"`, `"sni":"registry.npmjs.org"`, `"sni":"evil.test"`), RuleSNI},
		"a tunnel whose URL is no authority":  {line(`"method":"GET"`, `"method":"CONNECT"`, url, "registry.npmjs.org:x", `"rule":"allow_npm"`, `"rule":"connect_allowed"`), RuleIPLiteral},
	} {
		t.Run(name, func(t *testing.T) {
			got := audit(t, Default(), "10.0.0.7", logStart+tc.entry)
			switch {
			case tc.judged == "" && got.Violations == 0:
			case got.Violations != 1 || got.Found[0].Expected != tc.judged:
				t.Errorf("%+v, want one by %q", got, tc.judged)
			}
		})
	}
}

// The redirects of a policy with a budget are judged by where they lead.
func TestARedirectThatWasHandedOnIsJudgedByItsLocation(t *testing.T) {
	spec := Default()
	spec.MaxRedirects = 2
	to := func(location string) string {
		return line(`"status":200`, `"status":302`, `"up_status":"200"`, `"up_status":"302"`, `"location":"-"`, `"location":"`+location+`"`)
	}
	for name, tc := range map[string]struct{ entry, judged string }{
		"to another path of the registry": {to("https://registry.npmjs.org/semver/-/semver-7.6.3.tgz"), ""},
		"to a path on the same host":      {to("/semver/-/semver-7.6.3.tgz"), ""},
		"to another registry":             {to("https://pypi.org/simple/a/"), ""},
		"off the registries":              {to("https://evil.test/x"), RuleRedirectOff},
		"to plain http":                   {to("http://registry.npmjs.org/semver"), RuleRedirectOff},
		"to a host behind a user name":    {to("https://registry.npmjs.org@evil.test/x"), RuleRedirectOff},
		"to a host without a scheme":      {to("//evil.test/x"), RuleRedirectOff},
		"to two places":                   {to("https://registry.npmjs.org/a, https://evil.test/"), RuleRedirectOff},
		"to bytes that are no text":       {to("https://registry.npmjs.org/\xff"), RuleRedirectOff},
		"to nowhere":                      {to("-"), RuleRedirectOff},
		"in a log that does not say where to": {
			strings.Replace(to("x"), `,"location":"x"`, "", 1), RuleRedirectOff,
		},
		"that Squid denied": {
			strings.NewReplacer(`"status":302`, `"status":403`, `"rule":"allow_npm"`, `"rule":"redirect_off_registry"`).Replace(to("https://evil.test/x")), "",
		},
		"that is none, with a Location": {line(`"location":"-"`, `"location":"https://evil.test/x"`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := audit(t, spec, "10.0.0.7", logStart+tc.entry)
			switch {
			case tc.judged == "" && got.Violations == 0:
			case got.Violations != 1 || got.Found[0].Expected != tc.judged:
				t.Errorf("%+v, want one by %q", got, tc.judged)
			case !strings.Contains(got.Found[0].Request, "semver led to "):
				t.Errorf("it does not say where it led: %q", got.Found[0].Request)
			}
		})
	}
	if got := audit(t, Default(), "10.0.0.7", logStart+to("/semver")); got.Violations != 1 || got.Found[0].Expected != RuleRedirect {
		t.Errorf("without a budget: %+v", got)
	}
}
