package ecosystem

// Root entries that decide by their name alone, whatever kind of entry they are.
var (
	// redirecting configures where a manager fetches from.
	redirecting = set(".npmrc", ".yarnrc", ".yarnrc.yml", "pip.conf", "pip.ini", "uv.toml")

	// unsupportedFiles belong to managers that are not supported. npm prefers a
	// shrinkwrap to the lockfile that was checked.
	unsupportedFiles = set(
		"pnpm-lock.yaml", "pnpm-workspace.yaml", ".pnpmfile.cjs",
		"yarn.lock", ".pnp.cjs", ".pnp.js",
		"bun.lock", "bun.lockb", "bunfig.toml",
		"npm-shrinkwrap.json",
		"poetry.lock", "Pipfile", "Pipfile.lock", "pdm.lock",
	)

	// nodeFiles and pythonFiles tell the two languages apart.
	nodeFiles = set(
		"package.json", "package-lock.json", "npm-shrinkwrap.json",
		"pnpm-lock.yaml", "pnpm-workspace.yaml", "yarn.lock", "bun.lock", "bun.lockb",
	)
	pythonFiles = set(
		"pyproject.toml", "uv.lock", "requirements.txt", "setup.py",
		"poetry.lock", "Pipfile", "Pipfile.lock", "pdm.lock",
	)
)

func set(names ...string) map[string]bool {
	s := map[string]bool{}
	for _, name := range names {
		s[name] = true
	}
	return s
}
