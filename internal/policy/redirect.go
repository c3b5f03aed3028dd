package policy

import (
	"regexp"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// Characters of a Location that may follow its host: printable, no comma. Squid
// joins repeated headers with commas, and which of them a client follows is its own
// affair.
const locationRest = `[!-+.-~-]*`

// locationPattern finds the Location headers that lead to a policy's hosts: https on
// its own port, or a path on the host that was asked. One text for Squid and Go.
//
// A path may not begin with // or /\, which clients read as another host. What
// stands before an @ is not the host, so nothing but a port or a slash ends it.
func locationPattern(hosts []v1alpha1.PolicyHost) string {
	names := make([]string, 0, len(hosts))
	for _, host := range hosts {
		names = append(names, regexp.QuoteMeta(host.Host))
	}
	return `^(https://(` + strings.Join(names, "|") + `)(:443)?(/` + locationRest + `)?` +
		`|/([!-+.0-[^-~-]` + locationRest + `)?)$`
}
