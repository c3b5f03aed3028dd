package chart

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/testneeds"
)

// demoProfile renders the chart with the demo's values and returns its profile.
func demoProfile(t *testing.T, environment ...string) (v1alpha1.ZTProfile, error) {
	t.Helper()
	values, err := demoValues(t, environment...)
	if err != nil {
		return v1alpha1.ZTProfile{}, err
	}
	return profileOf(t, values)
}

// demoValues are those of hack/demo/values.sh for images that were pushed.
func demoValues(t *testing.T, environment ...string) ([]byte, error) {
	t.Helper()
	cache := t.TempDir()
	var references strings.Builder
	for i, name := range []string{
		"OPERATOR", "NODEAGENT", "HOLDER", "GUEST", "SQUID", "MIRROR_NPM", "MIRROR_PYPI",
		"WORKER_NODE_20", "WORKER_NODE_22", "WORKER_PYTHON_3_11", "WORKER_PYTHON_3_13",
	} {
		fmt.Fprintf(&references, "%s=registry.example.com/%s@sha256:%064x\n", name, strings.ToLower(name), i)
	}
	if err := os.WriteFile(filepath.Join(cache, "images.env"), []byte(references.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	script := exec.Command("../../hack/demo/values.sh")
	script.Env = append(append(os.Environ(), "ZT_CACHE="+cache), environment...)
	values, err := script.Output()
	if err != nil {
		return nil, fmt.Errorf("values.sh: %w", err)
	}
	return values, nil
}

func profileOf(t *testing.T, values []byte, arguments ...string) (v1alpha1.ZTProfile, error) {
	t.Helper()
	helm := exec.Command(testneeds.Tool(t, "helm"), append([]string{
		"template", "zt", "../../charts/zt-operator", "-f", "-", "--show-only", "templates/profile.yaml",
	}, arguments...)...)
	helm.Stdin = bytes.NewReader(values)
	output, err := helm.Output()
	if err != nil {
		return v1alpha1.ZTProfile{}, fmt.Errorf("helm template: %w", err)
	}
	var profile v1alpha1.ZTProfile
	return profile, yaml.UnmarshalStrict(output, &profile)
}

func TestTheProxysBoundsAreValues(t *testing.T) {
	values, err := demoValues(t)
	if err != nil {
		t.Fatal(err)
	}
	profile, err := profileOf(t, values, "--set",
		"profile.proxy.squid.memoryMiB=700,profile.proxy.mirrors[0].memoryMiB=1500,profile.proxy.mirrors[0].cacheMiB=6000")
	if err != nil {
		t.Fatal(err)
	}
	squid, mirror := profile.Spec.Proxy.Squid, profile.Spec.Proxy.Mirrors[0]
	if squid.Image == "" || squid.MemoryMiB != 700 || mirror.Image == "" || mirror.MemoryMiB != 1500 || mirror.CacheMiB != 6000 {
		t.Errorf("the profile has %+v and %+v", squid, mirror)
	}
	if _, err := profileOf(t, values, "--set", "profile.proxy.squid.memory=700"); err == nil {
		t.Error("a value that does not exist is taken")
	}
}

func TestTheDemosProfileHasEveryRuntimeAndAMirrorForEachOfThem(t *testing.T) {
	profile, err := demoProfile(t)
	if err != nil {
		t.Fatal(err)
	}
	mirrors := map[v1alpha1.Ecosystem]bool{}
	for _, mirror := range profile.Spec.Proxy.Mirrors {
		mirrors[mirror.Ecosystem] = true
	}
	exact := regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)
	names := map[string]bool{}
	for _, runtime := range profile.Spec.Runtimes {
		names[runtime.Name] = true
		line := strings.TrimPrefix(runtime.Name, string(runtime.Language)+"-")
		if !exact.MatchString(runtime.Version) || !strings.HasPrefix(runtime.Version, line+".") {
			t.Errorf("%s is of version %q and language %q", runtime.Name, runtime.Version, runtime.Language)
		}
		if want := "registry.example.com/worker_" + strings.NewReplacer("-", "_", ".", "_").Replace(runtime.Name) + "@"; !strings.HasPrefix(runtime.Image, want) {
			t.Errorf("%s has the image %s", runtime.Name, runtime.Image)
		}
		for _, manager := range runtime.Managers {
			if !mirrors[manager.Name] || manager.Version == "" {
				t.Errorf("%s has %s %q and mirrors are for %v", runtime.Name, manager.Name, manager.Version, mirrors)
			}
		}
	}
	for _, name := range []string{"node-20", "node-22", "python-3.11", "python-3.13"} {
		if !names[name] {
			t.Errorf("there is no %s: %v", name, names)
		}
	}
}

func TestAClusterBakesOnlyTheRuntimesItIsToldTo(t *testing.T) {
	profile, err := demoProfile(t, "ZT_RUNTIMES=python-3.13")
	if err != nil {
		t.Fatal(err)
	}
	if runtimes := profile.Spec.Runtimes; len(runtimes) != 1 || runtimes[0].Name != "python-3.13" || len(runtimes[0].Managers) != 2 {
		t.Errorf("runtimes are %+v", runtimes)
	}
	if _, err := demoProfile(t, "ZT_RUNTIMES=python-2.7"); err == nil {
		t.Error("a runtime without an image is offered")
	}
}
