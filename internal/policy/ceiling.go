package policy

import (
	"net/netip"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// Bounds no policy may exceed. The CRD states them as well; they are repeated
// here because a policy can reach the renderer without an API server.
const (
	// MaxHosts, MaxPaths, MaxDestinations and MaxPatternLength bound the lists and
	// texts of a policy.
	MaxHosts         = 16
	MaxPaths         = 16
	MaxDestinations  = 64
	MaxPatternLength = 512

	// MaxResponseMiB is the largest response a policy may admit, and the default.
	MaxResponseMiB = 256

	// MaxRedirects is the largest redirect budget a policy may have.
	MaxRedirects = 5
)

// methods a policy may admit: those that fetch and change nothing.
var ceilingMethods = []v1alpha1.PolicyMethod{"GET", "HEAD"}

// builtinForbidden are the destinations no policy can reach, checked after name
// resolution: this network, private, shared, loopback, link-local with the cloud
// metadata address, protocol assignments, benchmarking, multicast, reserved; and
// for IPv6 also whatever embeds an IPv4 address (compatible, NAT64, Teredo, 6to4).
//
// The IPv4-mapped range is not listed: Squid folds mapped answers to IPv4, and
// reads ::ffff:0:0/96 in an ACL as all of IPv4. Documentation ranges are left
// out on purpose: private registries are served from them in closed networks.
var builtinForbidden = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("224.0.0.0/4"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"),
	netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/32"),
	netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("5f00::/16"),
	netip.MustParsePrefix("fc00::/7"),
	netip.MustParsePrefix("fe80::/10"),
	netip.MustParsePrefix("fec0::/10"),
	netip.MustParsePrefix("ff00::/8"),
}

// mappedRange is where IPv4 addresses live inside IPv6.
var mappedRange = netip.MustParsePrefix("::ffff:0:0/96")
