package npm

import (
	"maps"
	"slices"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/model"
)

// Plan returns npm's commands. No code of the repository or of a package runs before
// rebuild, and from then on there is no network. The targets are the last arguments of
// the regression command.
func Plan(runner model.Runner, targets []string, mirrorURL string) model.Plan {
	return model.Plan{
		Provisioning: []model.Command{{
			Name: model.CommandInstall,
			// ci installs the lockfile or fails; scripts would run with the mirror in reach.
			Argv:  []string{"npm", "ci", "--ignore-scripts", "--no-fund"},
			Env:   merge(common(), provisioning(mirrorURL)),
			Phase: brokerproto.PhaseProvisioning, Network: brokerproto.NetworkPackageProxy,
		}},
		Prepare: []model.Command{{
			Name:  model.CommandRebuild,
			Argv:  []string{"npm", "rebuild"}, // runs the install scripts that ci left out
			Env:   merge(common(), offline()),
			Phase: brokerproto.PhaseVerification, Network: brokerproto.NetworkNone,
		}},
		Suite:      test(model.CommandSuite, runner, reporter(runner)),
		Regression: test(model.CommandRegression, runner, slices.Concat(reporter(runner), only(runner), targets)),
	}
}

func test(name string, runner model.Runner, arguments []string) model.Command {
	argv := []string{"npm", "test"}
	if len(arguments) > 0 {
		argv = append(append(argv, "--"), arguments...) // the rest is the script's
	}
	return model.Command{
		Name: name, Argv: argv, Env: merge(common(), offline(), reporting(runner)),
		Phase: brokerproto.PhaseVerification, Network: brokerproto.NetworkNone, Report: true,
	}
}

// common applies to every command.
func common() map[string]string {
	return map[string]string{
		// The image's root is read-only and the workspace is the tree under test.
		"HOME":             brokerproto.StateDir,
		"npm_config_cache": brokerproto.StateDir + "/npm-cache",
		// Nothing but this environment configures npm; a tree with an .npmrc is refused.
		// npm refuses one file in both places; the second is on the read-only root, where
		// nothing can put it.
		"npm_config_userconfig":   "/dev/null",
		"npm_config_globalconfig": "/nonexistent/npmrc",
		// Both ask the registry for what the policy does not admit.
		"npm_config_audit":           "false",
		"npm_config_update_notifier": "false",
		"npm_config_fund":            "false",
		// Logs would fill the run's disk; the output is captured anyway.
		"npm_config_logs_max": "0",
		"npm_config_progress": "false",
		// Escape sequences would reach the status as text.
		"npm_config_color": "false",
		"NO_COLOR":         "1",
	}
}

// provisioning points npm at the mirror.
func provisioning(mirrorURL string) map[string]string {
	return map[string]string{
		"npm_config_registry": mirrorURL,
		// Lockfile URLs of the public registry, and only those, are taken from the mirror.
		"npm_config_replace_registry_host": "npmjs",
		// The flag says the same; here it also holds for what npm itself starts.
		"npm_config_ignore_scripts": "true",
		// A wrong hash is final: retrying it took 142 s instead of 5 s.
		"npm_config_fetch_retries": "0",
		// Measured through the relay: 10 s instead of 16 s for 71 packages.
		"npm_config_maxsockets": "4",
	}
}

// offline makes tools fail at once instead of waiting for a network that is not
// there. The guarantee is the VM, not these.
func offline() map[string]string {
	env := map[string]string{"npm_config_offline": "true", "CI": "true"}
	for _, name := range []string{
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	} {
		env[name] = ""
	}
	return env
}

// reporting gives Node's test runner two reporters, whatever command line
// scripts.test has: the report for us, and text for people. Only the runner opens
// the report file. The processes it starts for the single files inherit the
// variable and ignore it, since the runner marks them as its children. Other runners
// take arguments: see reporter.
func reporting(runner model.Runner) map[string]string {
	if len(reporter(runner)) > 0 {
		return nil
	}
	return map[string]string{
		"NODE_OPTIONS": "--test-reporter=junit --test-reporter-destination=" + brokerproto.ReportFile +
			" --test-reporter=spec --test-reporter-destination=stdout",
	}
}

func merge(parts ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all
}
