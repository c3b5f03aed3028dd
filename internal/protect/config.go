package protect

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ai-dossier/zt-operator/internal/ecosystem/boundedjson"
)

// maxConfig bounds a configuration that is read for the files it names, in bytes.
const maxConfig = 64 << 10

// Configs maps the root files whose content NewRules needs to their bounds in bytes.
func Configs() map[string]int64 {
	files := map[string]int64{}
	for _, name := range []string{"jest.config", "vitest.config", "vite.config", "vitest.workspace", ".mocharc"} {
		for _, ending := range []string{".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".json", ".jsonc", ".yml", ".yaml"} {
			files[name+ending] = maxConfig
		}
	}
	return files
}

// loads matches the options under which jest, mocha and vitest load modules into the
// runner or the tests, and the beginning of their value. Other options name the
// project's own sources, which a fix changes.
var loads = regexp.MustCompile(`["']?\b(setupFiles|setupFilesAfterEnv|globalSetup|globalTeardown|testEnvironment|environment|` +
	`runner|testRunner|reporters?|resolver|testResultsProcessor|snapshotSerializers|testSequencer|sequencer|sequence|snapshotResolver|` +
	`snapshotEnvironment|preset|filter|transform|dependencyExtractor|watchPlugins|plugins|extends|projects|workspace|` +
	`require|import|loader|file|ui|node-option|diff|provider|customProviderModule)["']?[ \t]*[:=][ \t]*`)

// words matches what may be a path.
var words = regexp.MustCompile(`[A-Za-z0-9._/@-]+`)

// list matches the lines of a list in YAML.
var list = regexp.MustCompile(`^[ \t]*\r?\n([ \t]*-[^\n]*(\n|$))+`)

// configured returns what a configuration names, as paths of the tree: of JavaScript,
// TypeScript, JSON and YAML alike, without following what it computes.
func configured(text string) []string {
	var found []string
	for _, at := range loads.FindAllStringIndex(text, -1) {
		for _, word := range words.FindAllString(strings.ReplaceAll(value(text[at[1]:]), "<rootDir>/", "./"), -1) {
			found = append(found, candidates(word)...)
		}
	}
	return found
}

// value is what follows an option: to the end of a list or object, else of the line.
func value(rest string) string {
	end := strings.IndexByte(rest, '\n')
	switch {
	case strings.HasPrefix(rest, "["):
		end = strings.IndexByte(rest, ']')
	case strings.HasPrefix(rest, "{"):
		end = strings.IndexByte(rest, '}')
	case list.MatchString(rest):
		end = len(list.FindString(rest))
	}
	if end < 0 {
		return rest
	}
	return rest[:end]
}

// configWords are the words of all configuration among the root's files: of its own
// files, and of the fields of package.json that runners read.
func configWords(root map[string][]byte) []string {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(Configs())) {
		found = append(found, configured(string(root[name]))...)
	}
	manifest, err := boundedjson.ParseObject(root["package.json"], manifestLimits)
	if err != nil {
		return found // for detection to refuse
	}
	for _, key := range []string{"jest", "mocha", "vitest"} {
		if section, ok := manifest.Get(key); ok {
			found = append(found, loaded(section, false)...)
		}
	}
	return found
}

// loaded is configured for a field of package.json. named is true below an option that
// loads modules.
func loaded(value any, named bool) []string {
	var found []string
	switch v := value.(type) {
	case string:
		if named {
			found = candidates(strings.ReplaceAll(v, "<rootDir>/", "./"))
		}
	case []any:
		for _, item := range v {
			found = append(found, loaded(item, named)...)
		}
	case *boundedjson.Object:
		for _, key := range v.Keys() {
			item, _ := v.Get(key)
			found = append(found, loaded(item, named || loads.MatchString(key+":"))...)
		}
	}
	return found
}
