package policy

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

func render(t *testing.T, spec v1alpha1.ProxyPolicySpec, params SquidParams) string {
	t.Helper()
	if params.MirrorIP == "" {
		params.MirrorIP = "192.0.2.10"
	}
	text, err := RenderSquid(spec, params)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRenderSquid(t *testing.T) {
	narrow := Default()
	narrow.Methods = []v1alpha1.PolicyMethod{"GET"}
	narrow.MaxResponseMiB = 8
	narrow.ForbiddenDestinations = []string{"192.0.2.0/24", "10.1.0.0/16", "2001:db8::/32"}
	for name, tc := range map[string]struct {
		spec   v1alpha1.ProxyPolicySpec
		params SquidParams
		has    []string
		lacks  []string
	}{
		"paths inside the pod are the image's": {
			Default(), SquidParams{},
			[]string{"http_port 3128 ssl-bump tls-cert=/etc/zt/squid/ca.pem", "cafile=/run/squid/upstream-ca.pem", "access_log stdio:/run/squid/access.log zt"},
			[]string{"dns_nameservers", "via off"},
		},
		"only the mirror may use it": {
			Default(), SquidParams{MirrorIP: "10.244.1.7"},
			[]string{"acl mirrors src 10.244.1.7/32\n", "http_access deny !mirrors rule_source_not_mirror"}, nil,
		},
		"a mirror with an IPv6 address": {
			Default(), SquidParams{MirrorIP: "fd00::7"}, []string{"acl mirrors src fd00::7/128\n"}, nil,
		},
		"a run admits the hosts of its ecosystem": {
			Default(), SquidParams{Ecosystem: v1alpha1.EcosystemNPM},
			[]string{"acl registry_hosts dstdomain -n registry.npmjs.org\n", "http_access allow host_npm path_npm rule_allow_npm"},
			[]string{"pypi", "pythonhosted"},
		},
		"patterns are written unchanged": {
			Default(), SquidParams{},
			[]string{"acl path_pypi urlpath_regex " + string(Default().Hosts[1].Paths[0]) + "\n"}, nil,
		},
		"a narrower policy is enforced": {
			narrow, SquidParams{},
			[]string{"acl package_methods method GET\n", "reply_body_max_size 8 MB\n", "acl forbidden_dst dst 192.0.2.0/24\n", "acl forbidden_dst dst 2001:db8::/32\n", "acl forbidden_dst dst 10.0.0.0/8\n"},
			// Squid warns about a range inside another one.
			[]string{"10.1.0.0/16"},
		},
		"documentation ranges are not forbidden by default": {
			Default(), SquidParams{}, nil, []string{"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"},
		},
		"nameservers are those of the pod unless given": {
			Default(), SquidParams{Nameservers: []string{"192.0.2.53"}}, []string{"dns_nameservers 192.0.2.53\n"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := render(t, tc.spec, tc.params)
			for _, want := range tc.has {
				if !strings.Contains(text, want) {
					t.Errorf("it lacks %q", want)
				}
			}
			for _, unwanted := range tc.lacks {
				if strings.Contains(text, unwanted) {
					t.Errorf("it has %q", unwanted)
				}
			}
		})
	}
}

func TestTheLastRequestRuleDenies(t *testing.T) {
	var rules []string
	for line := range strings.Lines(render(t, Default(), SquidParams{})) {
		if strings.HasPrefix(line, "http_access") {
			rules = append(rules, strings.TrimSpace(line))
		}
	}
	if last := rules[len(rules)-1]; last != "http_access deny all rule_path_not_allowed" {
		t.Errorf("it is %q", last)
	}
	if first := rules[0]; first != "http_access deny !mirrors rule_source_not_mirror" {
		t.Errorf("the first one is %q", first)
	}
}

func TestRenderSquidRefusesWhatIsNoFactOfARun(t *testing.T) {
	for name, params := range map[string]SquidParams{
		"no mirror":                   {},
		"a name as the mirror":        {MirrorIP: "mirror.test"},
		"a range as the mirror":       {MirrorIP: "0.0.0.0/0"},
		"a zone in the address":       {MirrorIP: "fe80::1%eth0"},
		"a second directive":          {MirrorIP: "192.0.2.1\nhttp_access allow all"},
		"an ecosystem without a host": {MirrorIP: "192.0.2.1", Ecosystem: "cargo"},
	} {
		t.Run(name, func(t *testing.T) {
			if text, err := RenderSquid(Default(), params); err == nil {
				t.Errorf("rendered %d bytes", len(text))
			}
		})
	}
}

func TestRenderingIsDeterministicAndItsDigestFollowsThePolicy(t *testing.T) {
	first, err := ConfigDigest(Default())
	if err != nil {
		t.Fatal(err)
	}
	second, err := ConfigDigest(Default())
	if err != nil || first != second {
		t.Errorf("%s then %s, %v", first, second, err)
	}
	narrow := Default()
	narrow.MaxResponseMiB = 8
	if third, err := ConfigDigest(narrow); err != nil || third == first {
		t.Errorf("another policy has the digest %s, %v", third, err)
	}
	if _, err := ConfigDigest(v1alpha1.ProxyPolicySpec{}); err == nil {
		t.Error("an empty policy has a digest")
	}
}

func TestForbiddenRangesNeverOverlap(t *testing.T) {
	spec := Default()
	spec.ForbiddenDestinations = []string{"10.0.0.0/8", "10.2.0.0/16", "11.0.0.0/8", "fd00::/8", "fc00::/6", "192.0.2.0/24"}
	if problems := Validate(spec); len(problems) > 0 {
		t.Fatal(problems)
	}
	ranges := Forbidden(spec)
	for i, a := range ranges {
		for _, b := range ranges[i+1:] {
			if a.Overlaps(b) {
				t.Errorf("%s and %s", a, b)
			}
		}
	}
	for _, address := range []string{"10.2.3.4", "11.1.1.1", "fd00::1", "192.0.2.1", "169.254.169.254", "::1", "64:ff9b::a00:1"} {
		covered := false
		for _, r := range ranges {
			covered = covered || r.Contains(netip.MustParseAddr(address))
		}
		if !covered {
			t.Errorf("%s is not forbidden", address)
		}
	}
}
