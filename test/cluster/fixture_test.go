//go:build cluster

package cluster

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/cli/submit"
	"github.com/ai-dossier/zt-operator/test/proof"
)

// fixtureFacts say what a fixture is and what its trees give.
type fixtureFacts struct {
	target string
	// setup are the commands before the tests, each with what it must give.
	setup proof.Facts
	// suite, regression and failing count the tests of the base's suite, those of the
	// regression test, and those of them that fail without the fix.
	suite, regression, failing int
	// hosts are the registry's.
	hosts string
	flip  flip
}

const (
	succeeded = "succeeded, exit 0"
	installed = "succeeded, exit 0; network package_proxy"
	pypiHosts = "files.pythonhosted.org pypi.org"
)

var fixtures = map[v1alpha1.Ecosystem]fixtureFacts{
	v1alpha1.EcosystemNPM: {
		target: target, setup: proof.Facts{"install": installed, "rebuild": succeeded},
		suite: 14, regression: 3, failing: 3, hosts: "registry.npmjs.org",
		flip: flip{"package-lock.json", "sha512-8+9WqebbFzpX9OR", "sha512-9+9WqebbFzpX9OR", "argparse-2.0.1.tgz", "npm error code EINTEGRITY"},
	},
	v1alpha1.EcosystemPip: {
		target: "tests/test_overnight.py", setup: proof.Facts{"venv": succeeded, "install": installed},
		suite: 10, regression: 2, failing: 2, hosts: pypiHosts,
		flip: flip{"requirements.txt", "sha256:9121e2c1fdb35523", "sha256:8121e2c1fdb35523", "iniconfig-2.3.1-py3-none-any.whl",
			"THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE"},
	},
	v1alpha1.EcosystemUV: {
		target: "tests/test_repeated_headings.py", setup: proof.Facts{"export": succeeded, "venv": succeeded, "install": installed},
		suite: 10, regression: 3, failing: 3, hosts: pypiHosts,
		flip: flip{"uv.lock", "sha256:9121e2c1fdb35523", "sha256:8121e2c1fdb35523", "iniconfig-2.3.1-py3-none-any.whl", "Hash mismatch for `iniconfig==2.3.1`"},
	},
}

// submission is a run and what it was made of.
type submission struct {
	ecosystem v1alpha1.Ecosystem
	request   submit.Request
	dir       string
	run       *v1alpha1.ZTRun
}

// submit creates a run of the fixture, which change may spoil first, under a profile.
func (f fixtureFacts) submit(t *testing.T, ecosystem v1alpha1.Ecosystem, profile string, change func(t *testing.T, base string)) submission {
	t.Helper()
	s := submission{ecosystem: ecosystem, dir: repositoryOf(t, "../../fixtures/ecosystem/"+string(ecosystem), change)}
	s.request = request(t, s.dir)
	s.request.Targets, s.request.Profile = []string{f.target}, profile
	s.run = create(t, s.request)
	return s
}

// given is what was submitted, for the record.
func (s submission) given(change string) map[string]string {
	return map[string]string{
		"fixture": "fixtures/ecosystem/" + string(s.ecosystem), "change": change,
		"base": s.request.Base, "regressionTest": s.request.RegressionTest, "candidate": s.request.Candidate,
		"targets": strings.Join(s.request.Targets, " "), "profile": s.request.Profile,
		"bundle": s.bundleDigest(),
	}
}

func (s submission) bundleDigest() string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(s.request.Bundle))
}

// treeID asks git for the tree of a commit.
func (s submission) treeID(t *testing.T, commit string) string {
	t.Helper()
	id, err := exec.Command("git", "-C", s.dir, "rev-parse", commit+"^{tree}").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(id))
}

// replaceIn replaces a text that stands in a file exactly once.
func replaceIn(t *testing.T, dir, name, old, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(content), old); n != 1 {
		t.Fatalf("%q stands %d times in %s, want once", old, n, name)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(content), old, text, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// ran are the digests of everything that had a part in the run.
func ran(t *testing.T, run *v1alpha1.ZTRun) map[string]string {
	t.Helper()
	profile := defaultProfile(t)
	digests := map[string]string{
		"profile": profile.Status.SpecDigest, "guest": profile.Spec.Guest.Image, "squid": profile.Spec.Proxy.Squid.Image,
	}
	if e := run.Status.Execution; e != nil {
		digests["manifest"] = e.ManifestDigest
		if e.Source != nil {
			digests["source"] = e.Source.Digest
			maps.Copy(digests, imagesFor(profile, e.Source))
		}
	}
	if p := run.Status.Proxy; p != nil {
		digests["policy"], digests["squidConfiguration"] = p.PolicyDigest, p.ConfigDigest
	}
	pods := &corev1.PodList{}
	if err := kube.List(t.Context(), pods, client.InNamespace("zt-system")); err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		digests[pods.Items[i].Labels["app.kubernetes.io/component"]] = pods.Items[i].Spec.Containers[0].Image
	}
	return digests
}

func imagesFor(profile *v1alpha1.ZTProfile, source *v1alpha1.SourceStatus) map[string]string {
	images := map[string]string{}
	for _, runtime := range profile.Spec.Runtimes {
		if runtime.Name == source.Runtime {
			images["worker"] = runtime.Image
		}
	}
	for _, mirror := range profile.Spec.Proxy.Mirrors {
		if mirror.Ecosystem == source.Ecosystem {
			images["mirror"] = mirror.Image
		}
	}
	return images
}
