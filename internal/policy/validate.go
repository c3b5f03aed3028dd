package policy

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// Problem is one reason why a policy is refused.
type Problem struct {
	// Field is the path of the offending field, such as spec.hosts[0].paths[1].
	Field string
	// Detail is its code in the reason catalogue.
	Detail v1alpha1.Detail
	// Message says what was found and what is expected.
	Message string
}

func (p Problem) Error() string { return p.Field + ": " + p.Message }

var (
	ruleName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)
	// hostName demands a last label that begins with a letter, so no spelling of an
	// IP address, decimal, hexadecimal or short, can pass as a name.
	hostName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)
)

// Validate returns every reason why a policy cannot be enforced or reaches beyond
// the ceiling, in the order of its fields; none if it is valid. Only a valid
// policy is rendered or evaluated.
func Validate(spec v1alpha1.ProxyPolicySpec) []Problem {
	v := &validator{}
	v.methods(spec.Methods)
	v.hosts(spec.Hosts)
	if spec.MaxResponseMiB < 0 || spec.MaxResponseMiB > MaxResponseMiB {
		v.widens("spec.maxResponseMiB", "%d MiB; between 1 and %d are admitted", spec.MaxResponseMiB, MaxResponseMiB)
	}
	if spec.MaxRedirects < 0 || spec.MaxRedirects > MaxRedirects {
		v.widens("spec.maxRedirects", "%d redirects; between 0 and %d are admitted", spec.MaxRedirects, MaxRedirects)
	}
	v.destinations(spec.ForbiddenDestinations)
	return v.problems
}

type validator struct{ problems []Problem }

func (v *validator) add(field string, detail v1alpha1.Detail, format string, args ...any) {
	v.problems = append(v.problems, Problem{Field: field, Detail: detail, Message: fmt.Sprintf(format, args...)})
}

func (v *validator) widens(field, format string, args ...any) {
	v.add(field, v1alpha1.DetailPolicyWidensCeiling, format, args...)
}

func (v *validator) methods(methods []v1alpha1.PolicyMethod) {
	for i, method := range methods {
		if !slices.Contains(ceilingMethods, method) {
			v.widens(fmt.Sprintf("spec.methods[%d]", i), "%.20q changes things; GET and HEAD are admitted", method)
		}
	}
}

func (v *validator) hosts(hosts []v1alpha1.PolicyHost) {
	if len(hosts) == 0 || len(hosts) > MaxHosts {
		v.widens("spec.hosts", "%d hosts; between 1 and %d are admitted", len(hosts), MaxHosts)
		return
	}
	names, addresses := map[string]bool{}, map[string]bool{}
	for i, host := range hosts {
		field := fmt.Sprintf("spec.hosts[%d]", i)
		if !ruleName.MatchString(host.Name) || names[host.Name] {
			v.add(field+".name", v1alpha1.DetailPolicyInvalid, "%.40q is not a unique name of small letters, digits and underscores", host.Name)
		}
		if len(host.Host) > 253 || !hostName.MatchString(host.Host) {
			v.widens(field+".host", "%.80q is not a full DNS name in small letters; addresses and wildcards are never admitted", host.Host)
		} else if addresses[host.Host] {
			v.add(field+".host", v1alpha1.DetailPolicyInvalid, "%s is listed twice; put its paths in one entry", host.Host)
		}
		names[host.Name], addresses[host.Host] = true, true
		v.paths(field, host)
	}
}

func (v *validator) paths(field string, host v1alpha1.PolicyHost) {
	if len(host.Ecosystems) == 0 {
		v.add(field+".ecosystems", v1alpha1.DetailPolicyInvalid, "names no ecosystem, so no mirror could use it")
	}
	if len(host.Paths) == 0 || len(host.Paths) > MaxPaths {
		v.add(field+".paths", v1alpha1.DetailPolicyPatternInvalid, "%d patterns; between 1 and %d are admitted", len(host.Paths), MaxPaths)
		return
	}
	for i, path := range host.Paths {
		if _, err := compilePattern(string(path)); err != nil {
			v.add(fmt.Sprintf("%s.paths[%d]", field, i), v1alpha1.DetailPolicyPatternInvalid, "%.200q: %v", path, err)
		}
	}
}

func (v *validator) destinations(ranges []string) {
	if len(ranges) > MaxDestinations {
		v.add("spec.forbiddenDestinations", v1alpha1.DetailPolicyDestinationFormat, "%d ranges; at most %d are admitted", len(ranges), MaxDestinations)
		return
	}
	for i, text := range ranges {
		if _, err := parseDestination(text); err != nil {
			v.add(fmt.Sprintf("spec.forbiddenDestinations[%d]", i), v1alpha1.DetailPolicyDestinationFormat, "%v", err)
		}
	}
}

// parseDestination parses a range that Squid and netip read alike.
func parseDestination(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return netip.Prefix{}, fmt.Errorf("%.60q is not a range in CIDR notation", text)
	case prefix != prefix.Masked():
		return netip.Prefix{}, fmt.Errorf("%s has host bits set; write %s", text, prefix.Masked())
	case prefix.Addr().Is4In6() || prefix.Overlaps(mappedRange):
		return netip.Prefix{}, fmt.Errorf("%s covers IPv4-mapped addresses; write the IPv4 range, mapped answers are folded to it", text)
	case prefix.Bits() == 0:
		return netip.Prefix{}, fmt.Errorf("%s forbids every destination", text)
	}
	return prefix, nil
}
