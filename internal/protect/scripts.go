package protect

import (
	"path"
	"slices"
	"strings"

	"github.com/ai-dossier/zt-operator/internal/ecosystem/boundedjson"
)

// Bounds of a package.json, as detection has them.
var manifestLimits = boundedjson.Limits{Bytes: 1 << 20, Depth: 64, Values: 100_000}

// scriptWords returns the words of the scripts that npm test can reach, as paths of
// the tree. A script that cannot be read has none: detection refuses it.
func scriptWords(manifest []byte) []string {
	scripts := scriptsOf(manifest)
	var found []string
	seen := map[string]bool{}
	next := []string{"pretest", "test", "posttest"}
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		for _, word := range strings.FieldsFunc(scripts[name], separates) {
			if _, ok := scripts[word]; ok {
				next = append(next, "pre"+word, word, "post"+word)
			}
			found = append(found, candidates(word)...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// separates splits at what a shell does, and at what joins an option to its value.
func separates(r rune) bool { return strings.ContainsRune(" \t\r\n'\"`;&|()<>=,", r) }

// candidates are the files a word can mean to a shell or to Node's resolution.
func candidates(word string) []string {
	clean := path.Clean(word)
	if clean == "." || path.IsAbs(clean) || strings.HasPrefix(clean, "..") {
		return nil
	}
	return []string{clean, clean + ".js", clean + ".cjs", clean + ".mjs", clean + ".ts"}
}

func scriptsOf(manifest []byte) map[string]string {
	all := map[string]string{}
	object, err := boundedjson.ParseObject(manifest, manifestLimits)
	if err != nil {
		return all
	}
	value, _ := object.Get("scripts")
	scripts, ok := value.(*boundedjson.Object)
	if !ok {
		return all
	}
	for _, name := range scripts.Keys() {
		value, _ := scripts.Get(name)
		if text, ok := value.(string); ok {
			all[name] = text
		}
	}
	return all
}
