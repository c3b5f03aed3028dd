package sentinel

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

var javascript = language{
	quotes: []string{"'%s'", `"%s"`, "`%s`"},
	names:  regexp.MustCompile(`\b(test|it|specify)(\.\w+)*\s*\(\s*$`),
	head: func(target string) string {
		if typescript.MatchString(target) {
			return "// @ts-nocheck: what is planted asks for names that may not be there.\n"
		}
		return ""
	},
	joint:   " > ",
	title:   func(random string) string { return random },
	imports: importRunner,
	plant:   plantScript,
	planted: 6,
}

var typescript = regexp.MustCompile(`\.[cm]?tsx?$`)

// plantedScript registers the planted tests with whatever the file itself registers tests
// with, so that a replaced test function is the one that is asked.
//
// The first throws. The second rejects. Each of the others passes if any assertion that
// must not hold does, of node:assert or of the file's own assert and expect: an
// assertion that was patched to hold makes it pass, which is how the patch shows.
//
//go:embed planted.js
var plantedScript string

// importRunner gives what is planted the functions of vitest, which a file may have
// under any name and of which test takes none once the file has been read.
func importRunner(content string) string {
	if vitestImport.MatchString(content) {
		return "\nimport { expect as plantedExpect, test as plantedRunner } from 'vitest';\n"
	}
	return ""
}

var vitestImport = regexp.MustCompile(`\bfrom\s*['"]vitest['"]`)

func plantScript(titles []string) string {
	list, _ := json.Marshal(titles) // strings always marshal
	return strings.Replace(plantedScript, "PLANTED_TITLES", string(list), 1)
}

var python = language{
	quotes:     []string{"def %s("},
	names:      regexp.MustCompile(`(^|\n)[ \t]*(async[ \t]+)?$`),
	parameters: "[",
	head:       func(string) string { return "" },
	imports:    func(string) string { return "" },
	title:      func(random string) string { return "test_" + random },
	plant:      plantPython,
	planted:    3,
}

// plantPython plants a test that raises, one whose assert fails, and one that passes
// if any assertion that must not hold does.
func plantPython(titles []string) string {
	return fmt.Sprintf(`


def %s():
    raise RuntimeError("planted")


def %s():
    planted = 1
    assert planted == 2


def %s():
    import unittest

    import pytest

    def raised():
        with pytest.raises(ValueError):
            pass

    def approximate():
        assert pytest.approx(2) == 1

    case = unittest.TestCase()
    checks = [
        lambda: case.assertEqual(1, 2), lambda: case.assertTrue(False), lambda: case.assertFalse(True),
        lambda: case.assertIn(1, []), lambda: case.assertIs(None, 1), lambda: case.assertIsNone(1),
        lambda: case.assertRaises(ValueError, lambda: None), lambda: case.assertListEqual([1], [2]),
        lambda: case.assertDictEqual({1: 1}, {1: 2}), lambda: case.fail(),
        lambda: case.assertGreater(1, 2), lambda: case.assertLess(2, 1), lambda: case.assertIsInstance(1, str), lambda: case.assertRegex("a", "b"),
        lambda: case.assertAlmostEqual(1, 2), lambda: case.assertNotEqual(1, 1), lambda: case.assertNotIn(1, [1]), lambda: case.assertIsNotNone(None),
        lambda: case.assertCountEqual([1], [2]), lambda: case.assertMultiLineEqual("a", "b"), raised, approximate,
    ]
    for check in checks:
        try:
            check()
        except BaseException:
            continue
        return
    raise RuntimeError("planted")
`, anys(titles)...)
}

func anys(texts []string) []any {
	all := make([]any, len(texts))
	for i, text := range texts {
		all[i] = text
	}
	return all
}

// Command replaces the targets at the end of the regression command by the twins.
func Command(argv, targets []string, twins []Twin) []string {
	out := append([]string{}, argv[:len(argv)-len(targets)]...)
	for _, t := range twins {
		out = append(out, t.Path)
	}
	return out
}
