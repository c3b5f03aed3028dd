package pip

import (
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/pypi"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

// requirement is one locked release.
type requirement struct {
	// name is normalised, version canonical.
	name    string
	version string
	marker  pypi.Marker
	// hashes are SHA-256 digests; pip takes a file with any of them.
	hashes [][]byte
}

var (
	// pinned is name==version, possibly with extras, which --no-deps ignores.
	pinned = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*)[ \t]*` +
		`(?:\[[ \t]*[A-Za-z0-9._-]+(?:[ \t]*,[ \t]*[A-Za-z0-9._-]+)*[ \t]*\])?` +
		`[ \t]*==[ \t]*([A-Za-z0-9][A-Za-z0-9._!+-]*)$`)
	named = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?`)
	// variable is what pip replaces by the environment's value.
	variable = regexp.MustCompile(`\$\{[A-Z0-9_]+\}`)
	digest   = regexp.MustCompile(`^sha256:([0-9a-f]{64})$`) // some pips compare the text
)

// parseLine reads one logical line; ok is false for a line that only repeats what
// the plan asks for.
func parseLine(line string) (r requirement, ok bool, err error) {
	if variable.MatchString(line) {
		return r, false, unsupportedOption("", "a variable of the environment would be expanded in it")
	}
	specifier, options := breakOptions(line)
	if specifier == "" {
		return r, false, checkOptions(options)
	}
	r, err = parseSpecifier(specifier)
	if err != nil {
		return r, false, err
	}
	r.hashes, err = parseHashes(r.name, options)
	return r, err == nil, err
}

// breakOptions splits a line before the first word, as pip sees words, that starts
// with a dash.
func breakOptions(line string) (specifier, options string) {
	words := strings.Split(line, " ")
	for i, word := range words {
		if strings.HasPrefix(word, "-") {
			return strings.Join(words[:i], " "), strings.Join(words[i:], " ")
		}
	}
	return line, ""
}

// checkOptions admits a line of --require-hashes only: the plan has it anyway.
func checkOptions(options string) error {
	for _, word := range strings.Split(options, " ") {
		switch {
		case word == "--require-hashes", word == "":
		case word == "--editable", strings.HasPrefix(word, "--editable="), strings.HasPrefix(word, "-e"):
			return refusal.New(v1alpha1.DetailUnsupportedDependency, "-e",
				"an editable requirement is built from a folder or repository; only releases of the index are installed")
		default:
			return unsupportedOption(optionName(word), "the only option that requirements.txt may have is --require-hashes")
		}
	}
	return nil
}

// optionName leaves the value out: it may be a URL with credentials.
func optionName(word string) string {
	if strings.HasPrefix(word, "--") {
		name, _, _ := strings.Cut(word, "=")
		return name
	}
	return word[:min(2, len(word))]
}

func unsupportedOption(subject, message string) error {
	if subject == "" {
		subject = Lockfile
	}
	return refusal.New(v1alpha1.DetailUnsupportedConfig, subject, message)
}

// parseSpecifier reads what stands before the options.
func parseSpecifier(specifier string) (r requirement, err error) {
	bare, marker, marked := strings.Cut(specifier, ";")
	bare = strings.Trim(bare, " \t")
	m := pinned.FindStringSubmatch(bare)
	if m == nil {
		return r, notPinned(bare)
	}
	r.name = pypi.NormalName(m[1])
	version, ok := pypi.CanonicalVersion(m[2])
	if r.name == "" || !ok {
		return r, notPinned(bare)
	}
	r.version = version
	if !marked {
		return r, nil
	}
	if r.marker, err = pypi.ParseMarker(marker); err != nil {
		return r, refusal.New(v1alpha1.DetailUnsupportedMarker, r.name, err.Error())
	}
	return r, nil
}

// notPinned tells a release that is not pinned from what is no release at all.
func notPinned(bare string) error {
	subject := named.FindString(bare)
	if strings.ContainsAny(bare, "@:/\\") || strings.HasPrefix(bare, ".") {
		if before, _, ok := strings.Cut(bare, "@"); !ok || strings.Trim(before, " \t") != subject {
			subject = Lockfile
		}
		return refusal.New(v1alpha1.DetailUnsupportedDependency, subject,
			"it is a URL, path or repository; only releases of the index are installed")
	}
	if subject == "" {
		return refusal.New(v1alpha1.DetailInvalidLockfile, Lockfile, "a line is neither a requirement nor an option")
	}
	return refusal.New(v1alpha1.DetailUnpinnedRequirement, subject, "it is not name==version, with one version and no wildcard")
}

// parseHashes reads the options of a requirement, which may be hashes only.
func parseHashes(name, options string) ([][]byte, error) {
	// pip reads them as a shell would. Without quotes and backslashes, so do Fields.
	if strings.ContainsAny(options, `"'\`) {
		return nil, unsupportedOption(name, "its options are quoted; write them plainly, as pip-compile does")
	}
	words := strings.FieldsFunc(options, func(c rune) bool { return strings.ContainsRune(" \t\r\n", c) })
	var hashes [][]byte
	for i := 0; i < len(words); i++ {
		value, ok := strings.CutPrefix(words[i], "--hash=")
		if words[i] == "--hash" && i+1 < len(words) {
			i++
			value, ok = words[i], true
		}
		if !ok {
			return nil, unsupportedOption(optionName(words[i]), "the only option that a requirement may have is --hash")
		}
		m := digest.FindStringSubmatch(value)
		if m == nil {
			return nil, refusal.New(v1alpha1.DetailMissingHash, name,
				"one of its hashes is not sha256 with 64 lower-case hexadecimal digits; pip would take a file that has any of them")
		}
		raw, err := hex.DecodeString(m[1])
		if err != nil {
			return nil, refusal.New(v1alpha1.DetailMissingHash, name, "one of its hashes is not hexadecimal")
		}
		hashes = append(hashes, raw)
	}
	if len(hashes) == 0 {
		return nil, refusal.New(v1alpha1.DetailMissingHash, name, "it has no --hash=sha256:")
	}
	return hashes, nil
}
