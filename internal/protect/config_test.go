package protect

import (
	"maps"
	"slices"
	"testing"
)

func TestFindsWhatConfigurationLoads(t *testing.T) {
	for name, c := range map[string]struct {
		text     string
		has, not []string
	}{
		"jest":        {`module.exports = { setupFiles: ['<rootDir>/setup.js'], collectCoverageFrom: ['src/index.js'] };`, []string{"setup.js"}, []string{"src/index.js"}},
		"a transform": {"export default {\n  transform: {\n    '\\\\.ts$': ['./build/transform.js', {}],\n  },\n}", []string{"build/transform.js"}, nil},
		"vitest":      {"test: {\n  globalSetup: './setup/global.ts',\n  include: ['src/a.ts'] }", []string{"setup/global.ts"}, []string{"src/a.ts"}},
		"a URL":       {`globalSetup: new URL('./setup/global.ts', import.meta.url).pathname,`, []string{"setup/global.ts"}, nil},
		"vite":        {`build: { lib: { entry: './src/index.ts' } }`, nil, []string{"src/index.ts"}},
		"mocha":       {`{"require": ["ts-node/register", "./setup"], "spec": "x.js"}`, []string{"setup.js", "setup"}, []string{"x.js"}},
		"YAML":        {"require:\n  - ./one.js\n  - two.cjs\nspec: three.js\n", []string{"one.js", "two.cjs"}, []string{"three.js"}},
		"YAML's end":  {"reporter: ./four.js", []string{"four.js"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			found := configured(c.text)
			for _, path := range c.has {
				if !slices.Contains(found, path) {
					t.Errorf("there is no %s in %q", path, found)
				}
			}
			for _, path := range c.not {
				if slices.Contains(found, path) {
					t.Errorf("%s is in %q", path, found)
				}
			}
		})
	}
}

func TestProtectsWhatConfigurationLoads(t *testing.T) {
	was := maps.Clone(trusted)
	was["package.json"] = `{"scripts":{"test":"jest"},"jest":{"globalSetup":"<rootDir>/global.js","moduleNameMapper":{"^cut$":"<rootDir>/src/index.js"},
		"projects":[{"transform":{"x":["./transform","y"]}}]}}`
	was[".mocharc.yml"] = "require: ./hooks.js\n"
	for _, name := range []string{"global.js", "transform.js", "hooks.js"} {
		was[name] = "loaded"
	}
	for name, protected := range map[string]bool{"global.js": true, "transform.js": true, "hooks.js": true, "src/index.js": false} {
		is := maps.Clone(was)
		is[name] = "changed"
		refusal := NewRules(tree(was), rootOf(was), nil).Check(tree(is))
		if got := refusal != nil && refusal.Subject == name; got != protected {
			t.Errorf("%s: %v", name, refusal)
		}
	}
}
