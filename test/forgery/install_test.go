package forgery

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/testneeds"
)

// installed is the folder with what each of the kit's VMs begins with, "" if that is
// nothing. Runners come from the real registry, by the project's own lockfile, once.
func (k kit) installed(t *testing.T) string {
	t.Helper()
	if k.install == nil {
		return ""
	}
	lock := ""
	for _, name := range []string{"package-lock.json", "uv.lock"} {
		lock += k.project(t)[name]
	}
	sum := sha256.Sum256([]byte(lock))
	dir := filepath.Join(testneeds.Cache(t), "test-forgery", k.name+"-"+hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	part := dir + ".part"
	project, err := filepath.Abs(filepath.Join(fixtures, k.name, "project"))
	if err != nil {
		t.Fatal(err)
	}
	command(t, "rm", "-rf", part)
	command(t, "mkdir", "-p", part)
	k.install(t, project, part)
	if t.Failed() {
		t.FailNow()
	}
	command(t, "mv", part, dir) // Last: what is there is complete.
	return dir
}

// npmCI installs as the plan does, from the registry instead of a mirror.
func npmCI(t *testing.T, project, dir string) {
	t.Helper()
	workspace := filepath.Join(dir, "workspace")
	command(t, "mkdir", "-p", workspace)
	command(t, "cp", filepath.Join(project, "package.json"), filepath.Join(project, "package-lock.json"), workspace)
	command(t, "npm", "ci", "--prefix", workspace, "--ignore-scripts", "--no-audit", "--no-fund")
	command(t, "rm", filepath.Join(workspace, "package.json"), filepath.Join(workspace, "package-lock.json"))
}

// uvSync makes the environment of the plan, which may be moved.
func uvSync(t *testing.T, project, dir string) {
	t.Helper()
	env, requirements := filepath.Join(dir, "state", "env"), filepath.Join(dir, "requirements.txt")
	command(t, "uv", "export", "--project", project, "--frozen", "--no-config", "--no-emit-project", "--no-header", "-q", "--output-file", requirements)
	command(t, "uv", "venv", "--no-config", "--no-project", "--relocatable", "--python", "python3", env)
	command(t, "uv", "pip", "install", "--no-config", "--python", filepath.Join(env, "bin", "python"), "--require-hashes", "--no-deps", "-r", requirements)
	command(t, "rm", requirements)
}

// copyAll links files where it can. The fixtures write new files, and never into those
// that are there.
func copyAll(t *testing.T, from, to string) {
	t.Helper()
	command(t, "mkdir", "-p", to)
	if err := exec.Command("cp", "-al", from+"/.", to).Run(); err != nil {
		command(t, "cp", "-a", from+"/.", to)
	}
}

func command(t *testing.T, argv ...string) {
	t.Helper()
	if output, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Errorf("%q: %v\n%s", argv, err, output) // not Fatal: VMs call it from goroutines of their own
	}
}
