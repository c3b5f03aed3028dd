package pypi

import (
	"regexp"
	"strings"
)

// maxVersion bounds a version, in characters.
const maxVersion = 128

// version is the grammar of PEP 440 with every spelling it allows.
var version = regexp.MustCompile(`^(?i)v?(?:([0-9]+)!)?([0-9]+(?:\.[0-9]+)*)` +
	`(?:[-_.]?(alpha|a|beta|b|preview|pre|c|rc)[-_.]?([0-9]*))?` +
	`(?:(?:-([0-9]+))|(?:[-_.]?(post|rev|r)[-_.]?([0-9]*)))?` +
	`(?:[-_.]?(dev)[-_.]?([0-9]*))?` +
	`(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?$`)

var preNames = map[string]string{"alpha": "a", "a": "a", "beta": "b", "b": "b", "preview": "rc", "pre": "rc", "c": "rc", "rc": "rc"}

// CanonicalVersion returns a version in the form in which equal versions are equal:
// normalised, without trailing zeros of the release. ok is false if it is none.
func CanonicalVersion(s string) (canonical string, ok bool) {
	if len(s) > maxVersion {
		return "", false
	}
	m := version.FindStringSubmatch(s)
	if m == nil {
		return "", false
	}
	var b strings.Builder
	if epoch := number(m[1]); epoch != "0" {
		b.WriteString(epoch + "!")
	}
	b.WriteString(release(m[2]))
	if m[3] != "" {
		b.WriteString(preNames[strings.ToLower(m[3])] + number(m[4]))
	}
	switch {
	case m[5] != "":
		b.WriteString(".post" + number(m[5]))
	case m[6] != "":
		b.WriteString(".post" + number(m[7]))
	}
	if m[8] != "" {
		b.WriteString(".dev" + number(m[9]))
	}
	if m[10] != "" {
		b.WriteString("+" + local(m[10]))
	}
	return b.String(), true
}

// number is a number without leading zeros; none is zero.
func number(digits string) string {
	if digits = strings.TrimLeft(digits, "0"); digits == "" {
		return "0"
	}
	return digits
}

func release(s string) string {
	parts := strings.Split(s, ".")
	for i := range parts {
		parts[i] = number(parts[i])
	}
	for len(parts) > 1 && parts[len(parts)-1] == "0" {
		parts = parts[:len(parts)-1]
	}
	return strings.Join(parts, ".")
}

func local(s string) string {
	parts := separators.Split(strings.ToLower(s), -1)
	for i, part := range parts {
		if strings.Trim(part, "0123456789") == "" {
			parts[i] = number(part)
		}
	}
	return strings.Join(parts, ".")
}
