package runtimes

import (
	"errors"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

func node(version, npm string) v1alpha1.Runtime {
	return v1alpha1.Runtime{
		Name: "node-" + version, Language: v1alpha1.LanguageNode, Version: version,
		Managers: []v1alpha1.Manager{{Name: v1alpha1.EcosystemNPM, Version: npm}},
	}
}

func offered() []v1alpha1.Runtime {
	python := v1alpha1.Runtime{
		Name: "python-3.13", Language: v1alpha1.LanguagePython, Version: "3.13.1",
		Managers: []v1alpha1.Manager{{Name: v1alpha1.EcosystemPip, Version: "25.0"}},
	}
	return []v1alpha1.Runtime{node("20.19.2", "10.8.2"), python, node("22.23.5", "10.9.3"), node("22.3.0", "10.8.1")}
}

func engines(value string) Declaration {
	return Declaration{Source: "engines.node", Target: Interpreter, Syntax: NPMRange, Value: value}
}

func file(name, content string) Declaration {
	return Declaration{Source: name, Target: Interpreter, Syntax: NodeVersion, Value: content}
}

func npmEngine(value string) Declaration {
	return Declaration{Source: "engines.npm", Target: Manager, Syntax: NPMRange, Value: value}
}

func exactNPM(value string) Declaration {
	return Declaration{Source: "packageManager", Target: Manager, Syntax: ExactVersion, Value: value}
}

func TestSelect(t *testing.T) {
	cases := []struct {
		name         string
		declarations []Declaration
		runtimes     []v1alpha1.Runtime
		want         string          // the selected runtime's version, or
		detail       v1alpha1.Detail // the refusal
		subject      string
	}{
		{name: "a lower bound takes the newest runtime", declarations: []Declaration{engines(">=20")}, want: "22.23.5"},
		{name: "a caret keeps the line", declarations: []Declaration{engines("^20.0.0")}, want: "20.19.2"},
		{name: "newest is by number, not by text", declarations: []Declaration{engines("22")}, want: "22.23.5"},
		{name: "a star admits any", declarations: []Declaration{engines("*")}, want: "22.23.5"},
		{name: "a version file with a line", declarations: []Declaration{file(".nvmrc", "20\n")}, want: "20.19.2"},
		{name: "a version file with the exact version", declarations: []Declaration{file(".node-version", "v22.3.0")}, want: "22.3.0"},
		{name: "a version file with a comment and Windows line ends", declarations: []Declaration{file(".nvmrc", "# ours\r\n20.19 # line\r\n")}, want: "20.19.2"},
		{name: "a long-term line's code name", declarations: []Declaration{file(".nvmrc", "lts/Iron")}, want: "20.19.2"},
		{name: "every declaration holds", declarations: []Declaration{engines(">=18"), file(".nvmrc", "20")}, want: "20.19.2"},
		{name: "the same declaration from three trees", declarations: []Declaration{engines(">=20"), engines(">=20"), engines(">=20")}, want: "22.23.5"},
		{name: "a manager range narrows the runtimes", declarations: []Declaration{engines(">=20"), npmEngine("<10.9")}, want: "22.3.0"},
		{name: "the exact manager selects the runtime that carries it", declarations: []Declaration{engines(">=20"), exactNPM("10.8.2")}, want: "20.19.2"},
		{name: "a profile that names the manager's line only admits a version of it",
			declarations: []Declaration{engines(">=20"), exactNPM("10.2.0")}, runtimes: []v1alpha1.Runtime{node("22.1.0", "10")}, want: "22.1.0"},
		{name: "a manager range that covers the whole line",
			declarations: []Declaration{engines(">=20"), npmEngine(">=9")}, runtimes: []v1alpha1.Runtime{node("22.1.0", "10")}, want: "22.1.0"},

		{name: "nothing declared", detail: v1alpha1.DetailRuntimeUnspecified},
		{name: "only the manager declared", declarations: []Declaration{npmEngine(">=10")}, detail: v1alpha1.DetailRuntimeUnspecified},
		{name: "an exact version that is not offered is not substituted", declarations: []Declaration{file(".nvmrc", "20.11.0")},
			detail: v1alpha1.DetailRuntimeUnsupported, subject: ".nvmrc"},
		{name: "a line that is known but not offered", declarations: []Declaration{engines(">=24")}, detail: v1alpha1.DetailProfileNotBaked, subject: "node-24"},
		{name: "a known line by its code name", declarations: []Declaration{file(".nvmrc", "lts/krypton")}, detail: v1alpha1.DetailProfileNotBaked, subject: "node-24"},
		{name: "a known line that only all declarations together ask for", declarations: []Declaration{engines("20 || 24"), file(".nvmrc", "22 ")},
			detail: v1alpha1.DetailRuntimeConflict, subject: "engines.node"},
		{name: "declarations that agree on a known line only", declarations: []Declaration{engines("20 || 24"), engines(">=22")},
			detail: v1alpha1.DetailProfileNotBaked, subject: "node-24"},
		{name: "declarations that agree on a known line, with a manager that is not known for it",
			declarations: []Declaration{engines("20 || 24"), engines(">=22"), npmEngine(">=10")}, detail: v1alpha1.DetailRuntimeConflict, subject: "engines.node"},
		{name: "a line that is not known", declarations: []Declaration{engines(">=25")}, detail: v1alpha1.DetailRuntimeUnsupported, subject: "engines.node"},
		{name: "an old release of a known line", declarations: []Declaration{file(".nvmrc", "24.1.0")}, detail: v1alpha1.DetailRuntimeUnsupported, subject: ".nvmrc"},
		{name: "a newer release of a line that is offered", declarations: []Declaration{engines("~22.30")}, detail: v1alpha1.DetailRuntimeUnsupported, subject: "engines.node"},
		{name: "declarations that exclude each other", declarations: []Declaration{engines(">=22"), file(".nvmrc", "20")},
			detail: v1alpha1.DetailRuntimeConflict, subject: "engines.node"},
		{name: "a runtime and a manager that do not come together", declarations: []Declaration{engines("20"), exactNPM("10.9.3")},
			detail: v1alpha1.DetailRuntimeConflict, subject: "engines.node"},
		{name: "a range that is none", declarations: []Declaration{engines("twenty")}, detail: v1alpha1.DetailRuntimeDeclaration, subject: "engines.node"},
		{name: "a name that moves", declarations: []Declaration{file(".nvmrc", "lts/*")}, detail: v1alpha1.DetailRuntimeDeclaration, subject: ".nvmrc"},
		{name: "an empty version file", declarations: []Declaration{file(".nvmrc", "\n")}, detail: v1alpha1.DetailRuntimeDeclaration, subject: ".nvmrc"},
		{name: "two versions in a version file", declarations: []Declaration{file(".nvmrc", "20\n22\n")}, detail: v1alpha1.DetailRuntimeDeclaration, subject: ".nvmrc"},
		{name: "a manager range with no runtime", declarations: []Declaration{engines(">=20"), npmEngine("<9")},
			detail: v1alpha1.DetailManagerUnsupported, subject: "engines.npm"},
		{name: "an exact manager with no runtime", declarations: []Declaration{engines(">=20"), exactNPM("9.0.0")},
			detail: v1alpha1.DetailManagerUnsupported, subject: "packageManager"},
		{name: "a manager range that covers only a part of the line",
			declarations: []Declaration{engines(">=20"), npmEngine(">=10.5")}, runtimes: []v1alpha1.Runtime{node("22.1.0", "10")},
			detail: v1alpha1.DetailManagerUnsupported, subject: "engines.npm"},
		{name: "a profile without the ecosystem", declarations: []Declaration{engines(">=20")}, runtimes: []v1alpha1.Runtime{offered()[1]},
			detail: v1alpha1.DetailEcosystemNotOffered, subject: "npm"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			runtimes := c.runtimes
			if runtimes == nil {
				runtimes = offered()
			}
			got, err := Select(c.declarations, v1alpha1.EcosystemNPM, runtimes)
			if c.want != "" {
				if err != nil || got.Version != c.want {
					t.Fatalf("got %q, %v; want %q", got.Version, err, c.want)
				}
				return
			}
			var refused *refusal.Refusal
			if !errors.As(err, &refused) || refused.Detail != c.detail || refused.Subject != c.subject {
				t.Fatalf("got %q, %v; want refusal %s (%s)", got.Version, err, c.detail, c.subject)
			}
		})
	}
}

func TestRefusalsNameWhatIsOffered(t *testing.T) {
	for _, asked := range []string{">=24", ">=25"} {
		_, err := Select([]Declaration{engines(asked)}, v1alpha1.EcosystemNPM, offered())
		if err == nil || !strings.Contains(err.Error(), "node 22.23.5 (npm 10.9.3)") {
			t.Errorf("got %v", err)
		}
	}
}

func TestRefusalsQuoteNothingOfTheDeclaration(t *testing.T) {
	_, err := Select([]Declaration{engines("sneaky\x1b[31m")}, v1alpha1.EcosystemNPM, offered())
	if err == nil || strings.Contains(err.Error(), "sneaky") {
		t.Errorf("got %v", err)
	}
}
