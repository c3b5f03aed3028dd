package pypi

import (
	"maps"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/model"
)

// Paths in the worker that the plans of pip and uv share. What they write is outside
// the repository, on the mount that persists across the phase switch.
const (
	// Python is the runtime's interpreter.
	Python = "/usr/local/bin/python"
	// EnvironmentDir is the virtual environment.
	EnvironmentDir = brokerproto.StateDir + "/env"
	// EnvironmentPython is the virtual environment's interpreter.
	EnvironmentPython = EnvironmentDir + "/bin/python"
)

// IndexURL is the simple index of the mirror.
func IndexURL(mirrorURL string) string { return mirrorURL + "index/" }

// Offline makes a provisioning command that needs no network.
func Offline(name string, argv []string, env ...map[string]string) model.Command {
	return model.Command{
		Name: name, Argv: argv, Env: merge(common(), isolated(), merge(env...)),
		Phase: brokerproto.PhaseProvisioning, Network: brokerproto.NetworkNone,
	}
}

// Online makes a provisioning command that has the mirror in reach.
func Online(name string, argv []string, env ...map[string]string) model.Command {
	command := Offline(name, argv, env...)
	command.Network = brokerproto.NetworkPackageProxy
	return command
}

// Test makes a test command. pytest writes the report, whatever arguments it has.
func Test(name string, argv []string, env ...map[string]string) model.Command {
	return model.Command{
		Name: name, Argv: argv, Env: merge(common(), offline(), reporting(), merge(env...)),
		Phase: brokerproto.PhaseVerification, Network: brokerproto.NetworkNone, Report: true,
	}
}

// common applies to every command.
func common() map[string]string {
	return map[string]string{
		// The image's root is read-only and the workspace is the tree under test.
		"HOME": brokerproto.StateDir,
		// pip decodes requirements.txt by it, and detection read UTF-8.
		"LC_ALL": "C.UTF-8",
		// Escape sequences would reach the status as text.
		"NO_COLOR": "1",
	}
}

// isolated keeps an interpreter that a manager starts by itself, without -I, from the
// working directory and the user's packages. With a path to a mirror, no code of the
// repository may run.
func isolated() map[string]string {
	return map[string]string{"PYTHONSAFEPATH": "1", "PYTHONNOUSERSITE": "1"}
}

// offline makes tools fail at once instead of waiting for a network that is not
// there. The guarantee is the VM, not these.
func offline() map[string]string {
	env := map[string]string{"PIP_NO_INDEX": "1", "UV_OFFLINE": "1", "CI": "true"}
	for _, name := range []string{
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	} {
		env[name] = ""
	}
	return env
}

// reporting gives pytest the report and takes its memory of earlier runs: a suite
// that runs last-failed tests first, or only, would depend on the command before it.
func reporting() map[string]string {
	return map[string]string{"PYTEST_ADDOPTS": "--junitxml=" + brokerproto.ReportFile + " -p no:cacheprovider"}
}

func merge(parts ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all
}
