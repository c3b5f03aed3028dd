package protect

import (
	"strings"
	"testing"
)

const packageJSON = `{"name":"x","type":"module","scripts":{"test":"node --test","build":"tsc"},"jest":{"bail":0},"dependencies":{"he":"1.2.0"}}`

func TestManifest(t *testing.T) {
	cases := []struct{ name, old, new, subject string }{
		{"nothing", "", "", ""},
		{"a dependency", `"1.2.0"`, `"1.2.1"`, ""},
		{"a new dependency of development", `"jest"`, `"devDependencies":{"a":"1"},"jest"`, ""},
		{"a version", `"name":"x"`, `"name":"x","version":"2.0.0"`, ""},
		{"the same scripts in another order", `"test":"node --test","build":"tsc"`, `"build":"tsc","test":"node --test"`, ""},
		{"the test script", `node --test`, `true`, "scripts.test"},
		{"a script before the test", `"build":"tsc"`, `"build":"tsc","pretest":"node forge.js"`, "scripts.pretest"},
		{"a script whose name may not be shown", `"build":"tsc"`, `"build":"tsc","test:unit":"true"`, "scripts"},
		{"a script removed", `,"build":"tsc"`, ``, "scripts.build"},
		{"a runner's options", `"bail":0`, `"bail":0,"testPathIgnorePatterns":["bug"]`, "jest.testPathIgnorePatterns"},
		{"options of a runner that was not configured", `"jest"`, `"mocha":{"require":"./forge.js"},"jest"`, "mocha"},
		{"values for scripts", `"jest"`, `"config":{"opts":"--import=./forge.js"},"jest"`, "config"},
		{"the kind of modules", `"module"`, `"commonjs"`, "type"},
		{"a field of a runner of tomorrow", `"jest"`, `"newrunner":{},"jest"`, "newrunner"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			refusal := Manifest([]byte(packageJSON), []byte(strings.Replace(packageJSON, c.old, c.new, 1)))
			switch {
			case refusal == nil && c.subject != "":
				t.Error("not named")
			case refusal != nil && refusal.Subject != c.subject:
				t.Errorf("named %q, want %q", refusal.Subject, c.subject)
			}
		})
	}
}

func TestLockfile(t *testing.T) {
	lock := func(jest, he string) []byte {
		return []byte(`{"packages":{"":{},"node_modules/jest":{"version":"1","integrity":"` + jest + `"},"node_modules/he":{"integrity":"` + he + `"}}}`)
	}
	if refusal := Lockfile(lock("a", "b"), lock("a", "c")); refusal != nil {
		t.Errorf("a dependency: %v", refusal)
	}
	if refusal := Lockfile(lock("a", "b"), lock("forged", "b")); refusal == nil || refusal.Subject != "node_modules/jest" {
		t.Errorf("the runner: %v", refusal)
	}
	if refusal := Lockfile(lock("a", "b"), []byte(`{"packages":{}}`)); refusal == nil {
		t.Error("the runner was removed and not named")
	}
	if refusal := Lockfile([]byte("{"), lock("a", "b")); refusal != nil {
		t.Errorf("what cannot be parsed is for detection: %v", refusal)
	}
}

func TestProgramsOfPackages(t *testing.T) {
	lock := func(more string) []byte {
		return []byte(`{"packages":{"":{},"node_modules/jest":{"bin":{"jest":"bin/jest.js"}},"node_modules/semver":{"bin":{"semver":"x.js"}}` + more + `}}`)
	}
	for name, c := range map[string]struct{ more, subject string }{
		"nothing":                      {"", ""},
		"a program of its own":         {`,"node_modules/new":{"bin":{"new":"x.js"}}`, ""},
		"a program that is not linked": {`,"node_modules/a/node_modules/new":{"bin":{"jest":"x.js"}}`, ""},
		"a second program of a name":   {`,"node_modules/new":{"bin":{"jest":"x.js"}}`, "node_modules/.bin/jest"},
		"a package of a scope":         {`,"node_modules/@a/new":{"bin":{"semver":"x.js"}}`, "node_modules/.bin/semver"},
		"a program of the image":       {`,"node_modules/new":{"bin":{"sh":"x.js"}}`, "node_modules/.bin/sh"},
		"a program without a name":     {`,"node_modules/node":{"bin":"x.js"}`, "node_modules/.bin/node"},
	} {
		refusal := Lockfile(lock(""), lock(c.more))
		if refusal != nil && refusal.Subject != c.subject || refusal == nil && c.subject != "" {
			t.Errorf("%s: %v", name, refusal)
		}
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(packageJSON), []byte(`{"scripts":[]}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if refusal := Manifest(a, a); refusal != nil {
			t.Errorf("a manifest differs from itself: %v", refusal)
		}
		Manifest(a, b)
		scriptWords(b)
		Lockfile(a, b)
	})
}
