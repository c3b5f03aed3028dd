package npm

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/model"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

// withRunners is a project whose lockfile has all runners.
func withRunners(scripts object) *tree {
	tr := newTree()
	tr.manifest["scripts"] = scripts
	for _, name := range []string{"jest", "mocha", "vitest", "c8"} {
		tr.packages["node_modules/"+name] = object{
			"version": "1.0.0", "resolved": "https://registry.npmjs.org/" + name + "/-/" + name + "-1.0.0.tgz", "integrity": hash,
		}
	}
	return tr
}

func TestFindsTheRunner(t *testing.T) {
	for script, want := range map[string]model.Runner{
		"node --test":                            model.RunnerNode,
		"ava":                                    model.RunnerNode,
		"c8 node --test":                         model.RunnerNode,
		"echo mocha && node --test":              model.RunnerNode,
		"npm run other":                          model.RunnerNode,
		"jest":                                   model.RunnerJest,
		"jest --coverage src":                    model.RunnerJest,
		"NODE_ENV=test TZ=UTC jest":              model.RunnerJest,
		"npm run lint && jest --ci":              model.RunnerJest,
		"node_modules/.bin/jest":                 model.RunnerJest,
		"./node_modules/.bin/jest -i":            model.RunnerJest,
		"cross-env NODE_OPTIONS=--x jest":        model.RunnerJest,
		"npx --no-install jest":                  model.RunnerJest,
		"mocha 'test/**/*.js' --timeout \"5 s\"": model.RunnerMocha,
		"mocha $MORE":                            model.RunnerMocha,
		"nyc --reporter lcov mocha":              model.RunnerMocha,
		"c8 --check-coverage mocha test":         model.RunnerMocha,
		"tsc -p . && c8 mocha":                   model.RunnerMocha,
		"vitest":                                 model.RunnerVitest,
		"vitest run --config x.config.ts":        model.RunnerVitest,
		"npm run unit --":                        model.RunnerVitest,
		"npm run lint && npm run -s unit -- -t":  model.RunnerVitest,
		"node --experimental-vm-modules node_modules/jest/bin/jest.js": model.RunnerJest,
		"node -r esm node_modules/mocha/bin/_mocha":                    model.RunnerMocha,
		"node ./node_modules/vitest/vitest.mjs run":                    model.RunnerVitest,
	} {
		t.Run(script, func(t *testing.T) {
			got, err := Detect(withRunners(object{"test": script, "unit": "vitest run", "other": "node --test", "lint": "eslint ."}).root(t))
			if err != nil || got.Runner != want {
				t.Errorf("got %q, %v; want %q", got.Runner, err, want)
			}
		})
	}
}

func TestRefusesRunnersThatArgumentsDoNotReach(t *testing.T) {
	for script, subject := range map[string]string{
		"jest && echo done":          "scripts.test",
		"jest | tee log":             "scripts.test",
		"jest; true":                 "scripts.test",
		"(mocha)":                    "scripts.test",
		"jest || true":               "scripts.test",
		"mocha # all":                "scripts.test",
		"vitest > log":               "scripts.test",
		"npm run unit":               "scripts.test",
		"npm run unit && npm run a":  "scripts.test",
		"vitest & vitest":            "scripts.test",
		"npm run piped --":           "scripts.piped",
		"jest --watch":               "scripts.test",
		"mocha --reporter 'x":        "scripts.test",
		"npx mocha\nnode --test":     "scripts.test",
		"jest --watchAll --coverage": "scripts.test",
	} {
		t.Run(script, func(t *testing.T) {
			_, err := Detect(withRunners(object{"test": script, "unit": "vitest run", "piped": "mocha | cat", "a": "mocha"}).root(t))
			var refused *refusal.Refusal
			if !errors.As(err, &refused) || refused.Detail != v1alpha1.DetailNoTestRunner || refused.Subject != subject {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestARunnerMustBeLocked(t *testing.T) {
	for name, change := range map[string]func(*tree){
		"not there": func(tr *tree) { delete(tr.packages, "node_modules/jest") },
		"in another package only": func(tr *tree) {
			tr.packages["node_modules/ms/node_modules/jest"] = tr.packages["node_modules/jest"]
			delete(tr.packages, "node_modules/jest")
		},
		"an alias": func(tr *tree) {
			tr.manifest["dependencies"].(object)["jest"] = "npm:ms@^2.0.0"
			tr.packages[""].(object)["dependencies"] = tr.manifest["dependencies"]
			tr.packages["node_modules/jest"] = object{
				"name": "ms", "version": "2.1.3", "resolved": "https://registry.npmjs.org/ms/-/ms-2.1.3.tgz", "integrity": hash,
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr := withRunners(object{"test": "jest"})
			change(tr)
			_, err := Detect(tr.root(t))
			var refused *refusal.Refusal
			if !errors.As(err, &refused) || refused.Detail != v1alpha1.DetailNoTestRunner || refused.Subject != "jest" {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestScriptsThatRunEachOtherEnd(t *testing.T) {
	got, err := Detect(withRunners(object{"test": "npm run a --", "a": "npm run test --"}).root(t))
	if err != nil || got.Runner != model.RunnerNode {
		t.Errorf("got %q, %v", got.Runner, err)
	}
}

func TestTargetsAreTheLastArguments(t *testing.T) {
	for _, runner := range []model.Runner{model.RunnerNode, model.RunnerJest, model.RunnerMocha, model.RunnerVitest} {
		plan := Plan(runner, []string{"test/a.js", "test/b.js"}, "")
		argv := plan.Regression.Argv
		if !slices.Equal(argv[len(argv)-2:], []string{"test/a.js", "test/b.js"}) || argv[2] != "--" {
			t.Errorf("%s: %q", runner, argv)
		}
		reports := strings.Contains(strings.Join(plan.Suite.Argv, " ")+plan.Suite.Env["NODE_OPTIONS"], "/ztfc/report/report.xml")
		if _, own := plan.Suite.Env["NODE_OPTIONS"]; !reports || own != (runner == model.RunnerNode) {
			t.Errorf("%s reports: %q %v", runner, plan.Suite.Argv, plan.Suite.Env)
		}
	}
}
