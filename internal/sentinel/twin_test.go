package sentinel

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
)

func TestRenamesAfterTheRunnersPatterns(t *testing.T) {
	for target, want := range map[string]string{
		"test/cut-emoji.test.js": "test/NAME.test.js",
		"cut.spec.ts":            "NAME.spec.ts",
		"src/cut-test.mjs":       "src/NAME-test.mjs",
		"test/test-cut.cjs":      "test/test-NAME.cjs",
		"checks/cut.js":          "checks/NAME.js",
		"tests/test_cut.py":      "tests/test_NAME.py",
		"tests/cut_test.py":      "tests/NAME_test.py",
	} {
		if got := rename(target, "NAME"); got != want {
			t.Errorf("%s: got %s, want %s", target, got, want)
		}
	}
}

func TestTwinHidesTitlesAndFindsThemAgain(t *testing.T) {
	content := "test('cuts', () => {});\ntest(\"keeps\", () => {});\ntest('twice'); log('twice'); test(`${x} built`);\n"
	twin, err := New("test/cut.test.js", []byte(content), []string{"cuts", "keeps", "twice", "a built", ""}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text := string(twin.Content)
	if strings.Contains(text, "'cuts'") || strings.Contains(text, `"keeps"`) || strings.Count(text, "'twice'") != 2 {
		t.Errorf("titles: %s", text)
	}
	hidden := strings.SplitN(text, "'", 3)[1]
	if got := twin.Original("suite > " + hidden); got != "suite > cuts" {
		t.Errorf("original %q", got)
	}
	for _, title := range twin.Planted {
		if strings.Count(text, title) != 1 {
			t.Errorf("planted %s is not in it once", title)
		}
	}
}

func TestTwinLeavesNamesThatAreInputsAlone(t *testing.T) {
	for name, content := range map[string]string{
		"a list of inputs": "for (const input of ['abc', 'def']) test(input, () => cut(input));",
		"a table":          "test.each(['abc'])('%s', cut);",
		"another call":     "const name = title('abc'); test(name, () => {});",
	} {
		twin, err := New("a.test.js", []byte(content), []string{"abc", "def"}, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(twin.Content), content) {
			t.Errorf("%s: %s", name, twin.Content)
		}
	}
	for _, content := range []string{"test('abc', f)", "it.only( 'abc', f)", "await t.test(\n  'abc', f)", `specify("abc", f)`} {
		twin, err := New("a.test.js", []byte(content), []string{"abc"}, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		// Random letters may have any three in them.
		if strings.Contains(string(twin.Content), "'abc'") || strings.Contains(string(twin.Content), `"abc"`) {
			t.Errorf("%s keeps its title", content)
		}
	}
}

func TestTwinHidesTitlesBehindSuites(t *testing.T) {
	content := "describe('a > b', () => { it('cuts', f); it('c > d', f); });"
	twin, err := New("a.test.js", []byte(content), []string{"a > b > cuts", "a > b > c > d"}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(twin.Content); strings.Contains(text, "'cuts'") || strings.Contains(text, "'c > d'") || !strings.Contains(text, "'a > b'") {
		t.Errorf("%s", text)
	}
}

func TestPythonTwinHidesParametrisedTests(t *testing.T) {
	content := "import pytest\n\n@pytest.mark.parametrize('n', [1, 2])\ndef test_cuts(n):\n    pass\n\nclass TestA:\n    async def test_b(self):\n        pass\n"
	twin, err := New("test_a.py", []byte(content), []string{"test_cuts[1]", "test_cuts[2]", "test_b"}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(twin.Content); strings.Contains(text, "test_cuts") || strings.Contains(text, "test_b") {
		t.Errorf("%s", text)
	}
}

func TestTypeScriptIsNotChecked(t *testing.T) {
	twin, err := New("a.test.ts", []byte("test('a', () => {});"), nil, rand.Reader)
	if err != nil || !strings.HasPrefix(string(twin.Content), "// @ts-nocheck") {
		t.Errorf("%v: %s", err, twin.Content)
	}
}

func TestTwinsAreNeverTheSame(t *testing.T) {
	a, errA := New("a.test.js", nil, nil, rand.Reader)
	b, errB := New("a.test.js", nil, nil, rand.Reader)
	if errA != nil || errB != nil || a.Path == b.Path || a.Planted[0] == b.Planted[0] {
		t.Errorf("%+v, %v; %+v, %v", a, errA, b, errB)
	}
	if _, err := New("a.test.js", nil, nil, iotest.ErrReader(errors.New("no randomness"))); err == nil {
		t.Error("a twin without randomness")
	}
}

func TestPythonTwinMapsTheModuleBack(t *testing.T) {
	twin, err := New("tests/test_cut.py", []byte("def test_cuts():\n    pass\n"), []string{"test_cuts"}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	module := strings.TrimSuffix(strings.TrimPrefix(twin.Path, "tests/"), ".py")
	name := strings.TrimSuffix(strings.TrimPrefix(strings.SplitN(string(twin.Content), "\n", 2)[0], "def "), "():")
	if got := twin.Original("pytest > tests." + module + " > " + name); got != "pytest > tests.test_cut > test_cuts" {
		t.Errorf("original %q", got)
	}
}

func TestRefusesWhatItCannotPlantBeside(t *testing.T) {
	if _, err := New("test/cases.txt", nil, nil, rand.Reader); err == nil {
		t.Error("a twin of a text file")
	}
}

func TestTwinImportsVitestForItself(t *testing.T) {
	for content, want := range map[string]bool{
		"import * as v from 'vitest';\nv.test('a', () => {});": true,
		"import { it } from \"vitest\";\n":                     true,
		"import { test } from 'node:test';\n":                  false,
		"test('a', () => {});":                                 false,
	} {
		twin, err := New("a.test.js", []byte(content), nil, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(twin.Content), "test as plantedRunner } from 'vitest'"); got != want {
			t.Errorf("%s: %v", content, got)
		}
	}
}
