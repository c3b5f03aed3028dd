package testneeds

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Root skips the test of a user who is not root. For root, whatever then does not work
// is a failure.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, for namespaces, mounts, cgroups or files of other users: run it with sudo")
	}
}

// Tool returns the path of a program, or fails the test if PATH has none of that name.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is not in PATH (%v): `make tools` installs what the tests need, `make test` finds it", name, err)
	}
	return path
}

// File returns the path that a variable of the environment names, or fails the test
// if it names nothing that exists.
func File(t testing.TB, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s must name a file or folder that hack/test.sh makes for the test: %v", variable, err)
	}
	return path
}

// Cache returns the folder outside the tree where what is built once is kept, as
// hack/lib.sh finds it.
func Cache(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("ZT_CACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatalf("no cache folder: %v", err)
	}
	return filepath.Join(dir, "zt-operator")
}
