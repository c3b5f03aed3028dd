package pip

import (
	"net/url"

	"github.com/ai-dossier/zt-operator/internal/ecosystem/model"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/pypi"
)

// Plan returns pip's commands. Only install has the mirror in reach, and no code of
// the repository or of a package runs before the tests.
//
// The virtual environment is made without a pip of its own, and the runtime's pip
// installs into it: ensurepip took 29 s of a VM under TCG, this takes 6 s. That pip
// starts itself again under the environment's interpreter, without -I, as a script
// of the read-only image: its folder, not the working directory, heads the module
// path, PYTHONSAFEPATH takes even that away, and the environment is empty, so there is
// no .pth file and no sitecustomize in it.
func Plan(targets []string, mirrorURL string) model.Plan {
	return model.Plan{
		Provisioning: []model.Command{
			pypi.Offline(model.CommandVenv,
				[]string{pypi.Python, "-I", "-m", "venv", "--clear", "--without-pip", pypi.EnvironmentDir}),
			pypi.Online(model.CommandInstall, []string{
				pypi.Python, "-I", "-m", "pip", "--python", pypi.EnvironmentPython, "install",
				// Any other file than the locked one is refused, whatever the mirror serves.
				"--require-hashes",
				// The lockfile lists everything; what it does not list is not asked for.
				"--no-deps",
				// A source distribution would run its build, with the mirror in reach.
				"--only-binary=:all:",
				"-r", Lockfile,
			}, provisioning(mirrorURL)),
		},
		Suite:      test(model.CommandSuite),
		Regression: test(model.CommandRegression, targets...),
	}
}

func test(name string, targets ...string) model.Command {
	return pypi.Test(name, append([]string{pypi.EnvironmentPython, "-m", "pytest"}, targets...), configuration())
}

// configuration keeps pip to its arguments and to this environment.
func configuration() map[string]string {
	return map[string]string{
		"PIP_CONFIG_FILE":               "/dev/null",
		"PIP_DISABLE_PIP_VERSION_CHECK": "1",
		"PIP_NO_INPUT":                  "1",
	}
}

func provisioning(mirrorURL string) map[string]string {
	env := configuration()
	env["PIP_INDEX_URL"] = pypi.IndexURL(mirrorURL)
	// The mirror is plain HTTP on the worker's own loopback; hashes make the integrity.
	if mirror, err := url.Parse(mirrorURL); err == nil {
		env["PIP_TRUSTED_HOST"] = mirror.Hostname()
	}
	// A wrong hash or a missing file is final; the mirror itself retries the registry.
	env["PIP_RETRIES"] = "0"
	// The mirror answers when it has the whole file.
	env["PIP_DEFAULT_TIMEOUT"] = "600"
	// Each is installed once: a cache would fill the run's disk.
	env["PIP_NO_CACHE_DIR"] = "1"
	env["PIP_PROGRESS_BAR"] = "off"
	// Tests compile what they import; installing would compile everything. A variable
	// sets the option that the flag turns off: 0 is what --no-compile does.
	env["PIP_NO_COMPILE"] = "0"
	return env
}
