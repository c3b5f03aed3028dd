package runtimes

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ai-dossier/zt-operator/internal/runtimes/npmrange"
)

// version is a release version, X.Y.Z.
type version [3]int64

func (v version) compare(w version) int {
	for i := range v {
		if v[i] != w[i] {
			if v[i] < w[i] {
				return -1
			}
			return 1
		}
	}
	return 0
}

func (v version) npm() npmrange.Version {
	return npmrange.Version{Major: v[0], Minor: v[1], Patch: v[2]}
}

// partial is X, X.Y or X.Y.Z; what is left out is open.
type partial struct {
	version
	fixed int
}

// admits reports whether v starts with the numbers that p gives.
func (p partial) admits(v version) bool {
	for i := range p.fixed {
		if v[i] != p.version[i] {
			return false
		}
	}
	return true
}

// Nine digits a number: far above any release, far below an overflow.
var partialShape = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})(?:\.(0|[1-9][0-9]{0,8}))?(?:\.(0|[1-9][0-9]{0,8}))?$`)

func parsePartial(s string) (partial, error) {
	m := partialShape.FindStringSubmatch(s)
	if m == nil {
		return partial{}, fmt.Errorf("not a version of one to three numbers")
	}
	var p partial
	for i, digits := range m[1:] {
		if digits == "" {
			break
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return partial{}, err
		}
		p.version[i], p.fixed = n, i+1
	}
	return p, nil
}

func parseVersion(s string) (version, error) {
	p, err := parsePartial(s)
	if err != nil {
		return version{}, err
	}
	if p.fixed != 3 {
		return version{}, fmt.Errorf("not a version X.Y.Z")
	}
	return p.version, nil
}

// longTermLines are the code names that nvm and others take for Node's long-term
// lines. A name is fixed to its line for ever, unlike lts/* and node.
var longTermLines = map[string]string{
	"lts/hydrogen": "18", "lts/iron": "20", "lts/jod": "22", "lts/krypton": "24",
}

// parseNodeVersion reads the content of .nvmrc or .node-version: one version or code
// name, among blank lines and comments.
func parseNodeVersion(content string) (partial, error) {
	word, err := onlyWord(content)
	if err != nil {
		return partial{}, err
	}
	if line, ok := longTermLines[strings.ToLower(word)]; ok {
		word = line
	}
	return parsePartial(strings.TrimPrefix(word, "v"))
}

// parsePythonVersion reads the content of .python-version. Names of other
// implementations, and X.Y-dev, are not resolved.
func parsePythonVersion(content string) (partial, error) {
	word, err := onlyWord(content)
	if err != nil {
		return partial{}, err
	}
	return parsePartial(word)
}

// onlyWord returns the one line of a version file among blank ones and comments.
func onlyWord(content string) (string, error) {
	var word string
	for line := range strings.Lines(content) {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if word != "" {
			return "", fmt.Errorf("more than one version")
		}
		word = line
	}
	return word, nil
}
