package sentinel

import (
	"fmt"
	"regexp"
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
	plant:   plantScript,
	planted: 3,
}

var typescript = regexp.MustCompile(`\.[cm]?tsx?$`)

// plantScript registers the planted tests with whatever the file itself registers
// tests with, so that a replaced test function is the one that is asked.
//
// The first throws. The second rejects. The third passes if any assertion that must
// not hold does: an assertion that was patched to hold makes it pass, which is how
// the patch shows. It tries the file's own assert and expect beside Node's.
func plantScript(titles []string) string {
	return fmt.Sprintf(`
;(() => {
  const broken = (assert) => [
    () => assert(false), () => assert.ok(false), () => assert.equal(1, 2), () => assert.notEqual(1, 1),
    () => assert.strictEqual(1, 2), () => assert.notStrictEqual(1, 1),
    () => assert.deepEqual({ a: [1] }, { a: [2] }), () => assert.notDeepEqual({ a: 1 }, { a: 1 }),
    () => assert.deepStrictEqual({ a: [1] }, { a: [2] }), () => assert.notDeepStrictEqual({ a: 1 }, { a: 1 }),
    () => assert.match('a', /b/), () => assert.doesNotMatch('a', /a/),
    () => assert.throws(() => {}), () => assert.rejects(async () => {}), () => assert.fail('planted'),
    () => assert.equal('a', 'b'), () => assert.equal(null, 1), () => assert.ok(''),
  ];
  const checks = async () => {
    const own = typeof assert === 'function' ? [assert, assert.strict] : [];
    // A runner may be able to load modules in one way only.
    const load = async (name) => (typeof require === 'function' ? require(name) : (await import(name)).default);
    const node = [await load('node:assert'), await load('node:assert/strict')];
    const found = [...node, ...own].filter((a) => typeof a === 'function').flatMap(broken);
    if (typeof expect === 'function') {
      found.push(() => { const e = expect(1); (e.toBe ?? e.to.equal).call(e.toBe ? e : e.to, 2); });
      found.push(() => { const e = expect({ a: 1 }); (e.toEqual ?? e.to.deep.equal).call(e.toEqual ? e : e.to.deep, { a: 2 }); });
    }
    return found;
  };
  const planted = [
    ['%s', () => { throw new Error('planted'); }],
    ['%s', () => Promise.reject(new Error('planted'))],
    ['%s', async () => {
      for (const check of await checks()) {
        let held = true;
        try { await check(); } catch { held = false; }
        if (held) return;
      }
      throw new Error('planted');
    }],
  ];
  const register = (test) => planted.forEach(([title, run]) => test(title, run));
  if (typeof test === 'function') register(test);
  else if (typeof it === 'function') register(it);
  else if (process.env.VITEST) import('vitest').then((runner) => register(runner.test));
  else import('node:test').then((runner) => register(runner.test));
})();
`, anys(titles)...)
}

var python = language{
	quotes:     []string{"def %s("},
	names:      regexp.MustCompile(`(^|\n)[ \t]*(async[ \t]+)?$`),
	parameters: "[",
	head:       func(string) string { return "" },
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

    case = unittest.TestCase()
    checks = [
        lambda: case.assertEqual(1, 2), lambda: case.assertTrue(False), lambda: case.assertFalse(True),
        lambda: case.assertIn(1, []), lambda: case.assertIs(None, 1), lambda: case.assertIsNone(1),
        lambda: case.assertRaises(ValueError, lambda: None), lambda: case.assertListEqual([1], [2]),
        lambda: case.assertDictEqual({1: 1}, {1: 2}), lambda: case.fail(),
    ]
    for check in checks:
        try:
            check()
        except AssertionError:
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
