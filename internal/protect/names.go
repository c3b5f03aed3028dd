package protect

import (
	"path"
	"regexp"
	"strings"
)

// Names of files that runners take for tests, whatever folder they are in. What
// they compare with is part of the test.
var testName = regexp.MustCompile(
	`(^|[._-])(test|tests|spec)\.[cm]?[jt]sx?$|^test[._-].*\.[cm]?[jt]sx?$|^test_.*\.py$|_test\.py$|\.snap(shot)?$`)

// Folders of tests and of what tests use, anywhere in the tree and at its root.
var (
	testFolder     = set("test", "tests", "__tests__", "__mocks__", "__snapshots__")
	rootTestFolder = set("spec", "specs", "e2e")
)

// Files that configure or extend a runner, anywhere in the tree. Transpilers are
// among them: they rewrite the tests.
var runnerConfig = regexp.MustCompile(`^(` + strings.Join([]string{
	`(jest|vitest|vite|ava|nyc|c8|karma|jasmine|playwright|cypress|babel|wdio)[.-](config|conf|setup|workspace|preset)\b.*`,
	`\.(mocharc|nycrc|c8rc|taprc|babelrc|swcrc)(\..*)?`,
	`mocha\.opts`, `jasmine\.json`, `node\.config\.json`,
	// It can map what a test imports to another file.
	`(ts|js)config(\..+)?\.json`,
	// node --env-file reads NODE_OPTIONS from it.
	`\.env(\..*)?`,
	`conftest\.py`, `\.?pytest\.(ini|toml)`, `tox\.ini`, `setup\.cfg`, `noxfile\.py`, `\.coveragerc`,
}, "|") + `)$`)

// Files and folders that an interpreter or a runner loads by their name alone.
var (
	// Compiled Python is loaded in the place of its source, of a test too: all it has to
	// match is the source's size and date, and every date on a tree's disk is the same.
	hijack = regexp.MustCompile(
		`^(sitecustomize|usercustomize)(\.py|$)|\.pth$|\.(egg|dist)-info$|^node_modules$|^__pycache__$|\.py[co]$`)
	// rootHijack shadows the runner if it is at the root, which is on Python's path.
	rootHijack = regexp.MustCompile(`^(pytest|_pytest|pluggy|iniconfig|unittest)(\.py)?$`)
)

var script = regexp.MustCompile(`\.([cm]?[jt]sx?|json|node|py|so)$`)

// isTest reports whether a path is a test or in a folder of tests.
func isTest(name string) bool {
	segments := strings.Split(name, "/")
	for i, segment := range segments[:len(segments)-1] {
		if testFolder[segment] || i == 0 && rootTestFolder[segment] {
			return true
		}
	}
	return testName.MatchString(segments[len(segments)-1])
}

func isRunnerConfig(name string) bool { return runnerConfig.MatchString(path.Base(name)) }

func isHijack(name string) bool {
	segments := strings.Split(name, "/")
	if rootHijack.MatchString(segments[0]) {
		return true
	}
	for _, segment := range segments {
		if hijack.MatchString(segment) {
			return true
		}
	}
	return false
}

// stem is what an import without an extension says for a file or a folder's index.
func stem(name string) string {
	name = script.ReplaceAllString(name, "")
	for _, index := range []string{"/index", "/__init__"} {
		name = strings.TrimSuffix(name, index)
	}
	return name
}

func set(names ...string) map[string]bool {
	s := map[string]bool{}
	for _, name := range names {
		s[name] = true
	}
	return s
}
