package uv

import (
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/model"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/pypi"
)

const (
	program = "/usr/local/bin/uv"
	export  = brokerproto.StateDir + "/uv-requirements.txt"
)

// Plan returns uv's commands. Only install has the mirror in reach, and no code of the
// repository or of a package runs before the tests.
//
// uv sync would not do: it fetches the addresses in uv.lock, whatever index it is
// given, and there is no route to them. So the lockfile is exported, offline, to
// requirements with its hashes, and these are installed from the mirror.
func Plan(targets []string, mirrorURL string) model.Plan {
	return model.Plan{
		Provisioning: []model.Command{
			offline(model.CommandExport,
				"export", "--frozen", "--offline", "--no-config", "--no-python-downloads",
				"--format", "requirements.txt", "--no-emit-project", "--no-header", "--output-file", export),
			offline(model.CommandVenv,
				"venv", "--offline", "--no-config", "--no-project", "--no-python-downloads",
				"--python", pypi.Python, pypi.EnvironmentDir),
			pypi.Online(model.CommandInstall, []string{
				program, "pip", "install", "--no-config", "--no-python-downloads",
				"--python", pypi.EnvironmentPython,
				// Any other file than the locked one is refused, whatever the mirror serves.
				"--require-hashes",
				// The lockfile lists everything; what it does not list is not asked for.
				"--no-deps",
				// A source distribution would run its build, with the mirror in reach.
				"--only-binary", ":all:",
				"--index-url", pypi.IndexURL(mirrorURL),
				"-r", export,
			}, configuration(), provisioning()),
		},
		Suite:      test(model.CommandSuite),
		Regression: test(model.CommandRegression, targets...),
	}
}

func offline(name string, arguments ...string) model.Command {
	return pypi.Offline(name, append([]string{program}, arguments...), configuration())
}

// test runs pytest in the environment as it is: uv neither locks nor installs.
func test(name string, targets ...string) model.Command {
	argv := []string{
		program, "run", "--frozen", "--no-config", "--no-python-downloads", "--python", pypi.Python,
		"--offline", "--no-sync", "pytest",
	}
	return pypi.Test(name, append(argv, targets...), configuration())
}

// configuration keeps uv to its arguments and to this environment.
func configuration() map[string]string {
	return map[string]string{
		// On the disk of the environment, so that files are linked and not copied.
		"UV_CACHE_DIR":           brokerproto.StateDir + "/uv-cache",
		"UV_PROJECT_ENVIRONMENT": pypi.EnvironmentDir,
		// Over .python-version, which detection has judged already.
		"UV_PYTHON":      pypi.Python,
		"UV_NO_PROGRESS": "1",
		// uv run would otherwise read variables from a file of the repository.
		"UV_NO_ENV_FILE": "1",
	}
}

func provisioning() map[string]string {
	return map[string]string{
		// The same as --only-binary, and for whatever uv itself would build.
		"UV_NO_BUILD": "1",
		// A wrong hash or a missing file is final; the mirror itself retries the registry.
		"UV_HTTP_RETRIES": "0",
		// The mirror answers when it has the whole file.
		"UV_HTTP_TIMEOUT": "600",
		// The relay to the mirror is one virtio port.
		"UV_CONCURRENT_DOWNLOADS": "4",
	}
}
