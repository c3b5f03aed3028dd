package policy

import (
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

func TestTheDefaultPolicyIsValid(t *testing.T) {
	if problems := Validate(Default()); len(problems) > 0 {
		t.Fatal(problems)
	}
}

func TestValidateNamesTheOffendingField(t *testing.T) {
	type spec = v1alpha1.ProxyPolicySpec
	manyHosts := func(s *spec) {
		for len(s.Hosts) <= MaxHosts {
			s.Hosts = append(s.Hosts, s.Hosts[0])
		}
	}
	for name, tc := range map[string]struct {
		change func(*spec)
		field  string
		detail v1alpha1.Detail
	}{
		"a method that writes":              {func(s *spec) { s.Methods = []v1alpha1.PolicyMethod{"GET", "PUT"} }, "spec.methods[1]", v1alpha1.DetailPolicyWidensCeiling},
		"CONNECT as a method":               {func(s *spec) { s.Methods = []v1alpha1.PolicyMethod{"CONNECT"} }, "spec.methods[0]", v1alpha1.DetailPolicyWidensCeiling},
		"no host":                           {func(s *spec) { s.Hosts = nil }, "spec.hosts", v1alpha1.DetailPolicyWidensCeiling},
		"too many hosts":                    {manyHosts, "spec.hosts", v1alpha1.DetailPolicyWidensCeiling},
		"an IPv4 address as host":           {func(s *spec) { s.Hosts[0].Host = "192.0.2.1" }, "spec.hosts[0].host", v1alpha1.DetailPolicyWidensCeiling},
		"a hexadecimal address as host":     {func(s *spec) { s.Hosts[0].Host = "0x7f.0x1" }, "spec.hosts[0].host", v1alpha1.DetailPolicyWidensCeiling},
		"an IPv6 address as host":           {func(s *spec) { s.Hosts[0].Host = "[::1]" }, "spec.hosts[0].host", v1alpha1.DetailPolicyWidensCeiling},
		"a wildcard as host":                {func(s *spec) { s.Hosts[0].Host = ".npmjs.org" }, "spec.hosts[0].host", v1alpha1.DetailPolicyWidensCeiling},
		"a single label as host":            {func(s *spec) { s.Hosts[0].Host = "localhost" }, "spec.hosts[0].host", v1alpha1.DetailPolicyWidensCeiling},
		"a second directive in a host":      {func(s *spec) { s.Hosts[0].Host = "a.test\nhttp_access allow all" }, "spec.hosts[0].host", v1alpha1.DetailPolicyWidensCeiling},
		"the same host twice":               {func(s *spec) { s.Hosts[1].Host = s.Hosts[0].Host }, "spec.hosts[1].host", v1alpha1.DetailPolicyInvalid},
		"the same name twice":               {func(s *spec) { s.Hosts[1].Name = s.Hosts[0].Name }, "spec.hosts[1].name", v1alpha1.DetailPolicyInvalid},
		"a name with a space":               {func(s *spec) { s.Hosts[0].Name = "a b" }, "spec.hosts[0].name", v1alpha1.DetailPolicyInvalid},
		"a host for nobody":                 {func(s *spec) { s.Hosts[0].Ecosystems = nil }, "spec.hosts[0].ecosystems", v1alpha1.DetailPolicyInvalid},
		"no path":                           {func(s *spec) { s.Hosts[2].Paths = nil }, "spec.hosts[2].paths", v1alpha1.DetailPolicyPatternInvalid},
		"a pattern that Squid reads apart":  {func(s *spec) { s.Hosts[0].Paths[1] = "^/[^a]$" }, "spec.hosts[0].paths[1]", v1alpha1.DetailPolicyPatternInvalid},
		"a response over the ceiling":       {func(s *spec) { s.MaxResponseMiB = 257 }, "spec.maxResponseMiB", v1alpha1.DetailPolicyWidensCeiling},
		"a negative response":               {func(s *spec) { s.MaxResponseMiB = -1 }, "spec.maxResponseMiB", v1alpha1.DetailPolicyWidensCeiling},
		"a destination that is a name":      {func(s *spec) { s.ForbiddenDestinations = []string{"a.test"} }, "spec.forbiddenDestinations[0]", v1alpha1.DetailPolicyDestinationFormat},
		"a destination with host bits":      {func(s *spec) { s.ForbiddenDestinations = []string{"192.0.2.1/24"} }, "spec.forbiddenDestinations[0]", v1alpha1.DetailPolicyDestinationFormat},
		"a destination of mapped addresses": {func(s *spec) { s.ForbiddenDestinations = []string{"192.0.2.0/24", "::ffff:0:0/96"} }, "spec.forbiddenDestinations[1]", v1alpha1.DetailPolicyDestinationFormat},
		"a destination around the mapped":   {func(s *spec) { s.ForbiddenDestinations = []string{"::/64"} }, "spec.forbiddenDestinations[0]", v1alpha1.DetailPolicyDestinationFormat},
		"every destination":                 {func(s *spec) { s.ForbiddenDestinations = []string{"0.0.0.0/0"} }, "spec.forbiddenDestinations[0]", v1alpha1.DetailPolicyDestinationFormat},
	} {
		t.Run(name, func(t *testing.T) {
			spec := Default()
			tc.change(&spec)
			problems := Validate(spec)
			if len(problems) == 0 {
				t.Fatal("it is valid")
			}
			if problems[0].Field != tc.field || problems[0].Detail != tc.detail {
				t.Errorf("%s %s, want %s %s", problems[0].Field, problems[0].Detail, tc.field, tc.detail)
			}
			if _, err := RenderSquid(spec, SquidParams{MirrorIP: "192.0.2.10"}); err == nil {
				t.Error("it is rendered nevertheless")
			}
			if _, err := NewEvaluator(spec, SquidParams{MirrorIP: "192.0.2.10"}); err == nil {
				t.Error("it is evaluated nevertheless")
			}
		})
	}
}

func TestAMessageQuotesAtMostALittleOfTheField(t *testing.T) {
	spec := Default()
	spec.Hosts[0].Host = strings.Repeat("x\n", 5000)
	for _, problem := range Validate(spec) {
		if len(problem.Message) > 1024 || strings.Contains(problem.Message, "\n") {
			t.Errorf("a message of %d bytes: %.100q", len(problem.Message), problem.Message)
		}
	}
}
