package npm

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/boundedjson"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/model"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

// runner says who runs the tests. A script that calls jest, mocha or vitest must do so
// where the arguments behind npm test reach it, since these take their reporter from
// nowhere else; and the lockfile must have it. Any other script is taken for one of
// Node's runner: if it is none, there is no report, and no result.
func (p project) runner() (model.Runner, error) {
	runner, err := p.runnerOf("test", 0)
	if err != nil || runner == model.RunnerNode {
		return runner, err
	}
	if p.packages == nil {
		return "", notLocked(runner)
	}
	entry, ok := member[*boundedjson.Object](p.packages, "node_modules/"+string(runner))
	if !ok {
		return "", notLocked(runner)
	}
	if _, alias := entry.Get("name"); alias {
		return "", notLocked(runner)
	}
	return runner, nil
}

func notLocked(runner model.Runner) error {
	return refusal.New(v1alpha1.DetailNoTestRunner, string(runner),
		fmt.Sprintf("scripts.test runs %s, and package-lock.json does not have it at the root of node_modules", runner))
}

const maxIndirections = 3

// runnerOf reads one script, and the scripts it ends with.
func (p project) runnerOf(name string, depth int) (model.Runner, error) {
	script, _ := member[string](p.scripts, name)
	commands, plain := simpleCommands(script)
	if len(commands) == 0 {
		return model.RunnerNode, nil
	}
	last := commands[len(commands)-1]
	if next, passes := indirection(last); next != "" && depth < maxIndirections {
		runner, err := p.runnerOf(next, depth+1)
		if err == nil && runner != model.RunnerNode && (!plain || !passes) {
			err = unreachable(name, runner)
		}
		return runner, err
	}
	if runner := called(last); runner != "" && plain {
		if word := watching(last); word != "" {
			return "", refusal.New(v1alpha1.DetailNoTestRunner, "scripts."+name, fmt.Sprintf("%s watches with %s and does not end", runner, word))
		}
		return runner, nil
	}
	for _, command := range commands {
		if runner := called(command); runner != "" {
			return "", unreachable(name, runner)
		}
	}
	return model.RunnerNode, nil
}

func unreachable(script string, runner model.Runner) error {
	return refusal.New(v1alpha1.DetailNoTestRunner, "scripts."+script,
		fmt.Sprintf("it runs %s where arguments do not reach it; call it last, as in `… && %s`, or through `npm run NAME --`", runner, runner))
}

// indirection is the script that npm run NAME runs, and whether what follows reaches
// it: npm takes options before -- for its own.
func indirection(words []string) (name string, passes bool) {
	words = withoutAssignments(words)
	if len(words) < 3 || words[0] != "npm" || words[1] != "run" && words[1] != "run-script" {
		return "", false
	}
	for i, word := range words[2:] {
		switch {
		case word == "--":
			return name, name != ""
		case strings.HasPrefix(word, "-"):
		case name == "":
			name = words[2+i]
		}
	}
	return name, false
}

// runnerPath matches the ways to name a runner's program.
var runnerPath = regexp.MustCompile(`^(?:(?:\./)?node_modules/(?:\.bin/)?(?:(?:jest|mocha|vitest)/(?:bin/)?)?)?_?(jest|mocha|vitest)(?:\.m?js)?$`)

// launchers run the program that is named among their arguments.
var launchers = map[string]bool{"cross-env": true, "env": true, "npx": true, "c8": true, "nyc": true, "node": true}

// called is the runner that a command calls, through launchers or not.
func called(words []string) model.Runner {
	words = withoutAssignments(words)
	if len(words) == 0 {
		return ""
	}
	if !launchers[words[0]] {
		return named(words[0])
	}
	for _, word := range words[1:] {
		if launchers[word] {
			continue
		}
		// Node takes a bare name for a file, and -r for a module.
		if runner := named(word); runner != "" && (words[0] != "node" || strings.Contains(word, "node_modules/")) {
			return runner
		}
	}
	return ""
}

func named(word string) model.Runner {
	if m := runnerPath.FindStringSubmatch(word); m != nil {
		return model.Runner(m[1])
	}
	return ""
}

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

func withoutAssignments(words []string) []string {
	for len(words) > 0 && assignment.MatchString(words[0]) {
		words = words[1:]
	}
	return words
}

func watching(words []string) string {
	for _, word := range words {
		switch word {
		case "--watch", "--watchAll", "-w":
			return word
		}
	}
	return ""
}

// reporter returns the arguments by which a runner writes its report; Node's takes
// none. Each takes them over those of the script and of its configuration, but for
// mocha's and vitest's files of reports that a configuration names: then there is no
// report here.
func reporter(runner model.Runner) []string {
	switch runner {
	case model.RunnerJest:
		// jest has no JUnit reporter of its own; package junit reads this one. Transformed
		// sources of an earlier command are not believed.
		return []string{"--ci", "--no-cache", "--coverage=false", "--json", "--outputFile=" + brokerproto.ReportFile}
	case model.RunnerMocha:
		return []string{"--reporter", "xunit", "--reporter-option", "output=" + brokerproto.ReportFile}
	case model.RunnerVitest:
		return []string{"--run", "--coverage.enabled=false", "--reporter=default", "--reporter=junit", "--outputFile.junit=" + brokerproto.ReportFile}
	}
	return nil
}

// only returns what makes a runner take the names behind it for files and nothing else.
func only(runner model.Runner) []string {
	if runner == model.RunnerJest {
		return []string{"--runTestsByPath"} // else they are patterns
	}
	return nil
}
