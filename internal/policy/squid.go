package policy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// SquidPort is where Squid listens.
const SquidPort = 3128

// SquidParams are one attempt's facts for its Squid.
type SquidParams struct {
	// MirrorIP is the only address that may use the proxy.
	MirrorIP string
	// Ecosystem of the run; hosts of other ecosystems are not admitted. Empty
	// admits every host of the policy, for the policy's own digest.
	Ecosystem v1alpha1.Ecosystem
	// Listen is the address and port; empty for every address, port 3128.
	Listen string
	// ConfigDir holds ca.pem; empty for /etc/zt/squid.
	ConfigDir string
	// RunDir is the one writable folder; empty for /run/squid.
	RunDir string
	// Nameservers replace those of the system's resolv.conf if given.
	Nameservers []string
}

func (p SquidParams) withDefaults() SquidParams {
	if p.Listen == "" {
		p.Listen = fmt.Sprint(SquidPort)
	}
	if p.ConfigDir == "" {
		p.ConfigDir = "/etc/zt/squid"
	}
	if p.RunDir == "" {
		p.RunDir = "/run/squid"
	}
	return p
}

// ConfigDigest returns the SHA-256 of the configuration a policy renders to for
// every ecosystem, with placeholders for a run's own facts.
func ConfigDigest(spec v1alpha1.ProxyPolicySpec) (string, error) {
	text, err := RenderSquid(spec, SquidParams{MirrorIP: "192.0.2.10"})
	if err != nil {
		return "", err
	}
	return TextDigest(text), nil
}

// RenderSquid returns the configuration that enforces a policy for one attempt.
// It is deterministic. A policy that Validate refuses is not rendered.
func RenderSquid(spec v1alpha1.ProxyPolicySpec, params SquidParams) (string, error) {
	spec, mirror, err := prepare(spec, params)
	if err != nil {
		return "", fmt.Errorf("render squid.conf: %w", err)
	}
	params = params.withDefaults()
	c := &squidConfig{}
	c.listener(params)
	c.facts(spec, mirror)
	c.reasons(spec)
	c.requestRules(spec)
	c.replyRules(spec)
	c.inspection(spec.Hosts)
	c.hygiene(params)
	c.process(params)
	return c.text.String(), nil
}

// prepare returns a valid policy in normal form, cut down to the hosts of the
// run's ecosystem, and the mirror's address.
func prepare(spec v1alpha1.ProxyPolicySpec, params SquidParams) (v1alpha1.ProxyPolicySpec, netip.Addr, error) {
	if problems := Validate(spec); len(problems) > 0 {
		return spec, netip.Addr{}, problems[0]
	}
	mirror, err := netip.ParseAddr(params.MirrorIP)
	if err != nil || mirror.Zone() != "" {
		return spec, netip.Addr{}, fmt.Errorf("the mirror's address %.60q is not an IP address", params.MirrorIP)
	}
	spec = normal(spec)
	spec.Hosts = hostsOf(spec, params.Ecosystem)
	if len(spec.Hosts) == 0 {
		return spec, netip.Addr{}, fmt.Errorf("the policy admits no host for ecosystem %q", params.Ecosystem)
	}
	return spec, mirror.Unmap(), nil
}

// hostsOf returns the policy's hosts that an ecosystem's mirror may use.
func hostsOf(spec v1alpha1.ProxyPolicySpec, ecosystem v1alpha1.Ecosystem) []v1alpha1.PolicyHost {
	var hosts []v1alpha1.PolicyHost
	for _, host := range spec.Hosts {
		if ecosystem == "" || slices.Contains(host.Ecosystems, ecosystem) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// squidConfig collects directives, one a line.
type squidConfig struct{ text strings.Builder }

func (c *squidConfig) section(title string) { fmt.Fprintf(&c.text, "\n# %s\n", title) }

func (c *squidConfig) line(format string, args ...any) {
	fmt.Fprintf(&c.text, format+"\n", args...)
}

func (c *squidConfig) lines(lines ...string) {
	for _, line := range lines {
		c.text.WriteString(line + "\n")
	}
}
