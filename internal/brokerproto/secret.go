package brokerproto

import "regexp"

// secretShapes are the published forms of credentials that a mistake in a plan
// could carry into a VM. A shape, not proof: a value that only looks like one is
// refused too.
var secretShapes = regexp.MustCompile(`\b(gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{20,}` +
	`|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{32,}|(AKIA|ASIA)[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35}|xox[abprs]-[A-Za-z0-9-]{10,}` +
	`|sk-[A-Za-z0-9_-]{20,}|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.)` +
	`|-----BEGIN [A-Z ]*PRIVATE KEY-----`)

// SecretShaped reports whether text holds what looks like a credential.
func SecretShaped(text string) bool {
	return secretShapes.MatchString(text)
}
