package ztrun

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/test/builders"
)

// mirrorWorld is a run whose source is of an ecosystem, with its mirror pod made.
func mirrorWorld(t *testing.T, ecosystem v1alpha1.Ecosystem) *world {
	t.Helper()
	w, _ := readyWorld(t)
	edit(w, builders.Profile("default").Object(), func(p *v1alpha1.ZTProfile) {
		p.Spec.Proxy.Mirrors = []v1alpha1.Mirror{
			{PinnedImage: builders.Image("mirror-npm", "4"), Ecosystem: v1alpha1.EcosystemNPM},
			{PinnedImage: builders.Image("mirror-pypi", "5"), Ecosystem: v1alpha1.EcosystemPip},
			{PinnedImage: builders.Image("mirror-pypi", "6"), Ecosystem: v1alpha1.EcosystemUV},
		}
	})
	w.toPlaced()
	e := builders.Execution(1, bundleDigest).Object()
	e.Source.Ecosystem = ecosystem
	w.agent(e)
	w.settle()
	w.kubelet(v1alpha1.RoleMirror, "10.244.0.6")
	w.settle()
	return w
}

func TestEachEcosystemGetsItsOwnMirror(t *testing.T) {
	type expectation struct {
		image, storage string
		files          []string
		env            map[string]string
		hosts          []string
	}
	const squid, ca = "http://10.96.7.8:3128", "/etc/zt/mirror/ca.crt"
	npm := expectation{builders.Image("mirror-npm", "4").Image, "/verdaccio/storage", []string{"ca.crt", "config.yaml"},
		map[string]string{"NODE_EXTRA_CA_CERTS": ca}, []string{"registry.npmjs.org"}}
	python := npm
	python.storage, python.files, python.hosts = "/var/cache/proxpi", []string{"ca.crt"}, []string{"pypi.org", "files.pythonhosted.org"}
	python.env = map[string]string{
		"HTTPS_PROXY": squid, "REQUESTS_CA_BUNDLE": ca, "PROXPI_CACHE_DIR": "/var/cache/proxpi", "PROXPI_DOWNLOAD_TIMEOUT": "600",
	}
	pip, uv := python, python
	pip.image, uv.image = builders.Image("mirror-pypi", "5").Image, builders.Image("mirror-pypi", "6").Image

	for ecosystem, want := range map[v1alpha1.Ecosystem]expectation{v1alpha1.EcosystemNPM: npm, v1alpha1.EcosystemPip: pip, v1alpha1.EcosystemUV: uv} {
		t.Run(string(ecosystem), func(t *testing.T) {
			w := mirrorWorld(t, ecosystem)
			pod := w.pod(v1alpha1.RoleMirror)
			wantRestricted(t, pod)
			container := pod.Spec.Containers[0]
			if container.Image != want.image || container.Ports[0].ContainerPort != 4873 {
				t.Errorf("it runs %s on port %d, want %s", container.Image, container.Ports[0].ContainerPort, want.image)
			}
			got := map[string]string{}
			for _, variable := range container.Env {
				got[variable.Name] = variable.Value
			}
			for name, value := range want.env {
				if got[name] != value {
					t.Errorf("%s is %q, want %q", name, got[name], value)
				}
			}
			if !slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool {
				return m.Name == "storage" && m.MountPath == want.storage && !m.ReadOnly
			}) {
				t.Errorf("nothing writable at %s: %v", want.storage, container.VolumeMounts)
			}
			config := &corev1.ConfigMap{}
			w.get(w.named(objectMirrorConfig), config)
			if files := slices.Sorted(maps.Keys(config.Data)); !slices.Equal(files, want.files) {
				t.Errorf("its files are %v, want %v", files, want.files)
			}
			secret := &corev1.Secret{}
			w.get(w.named(objectSquidConfig), secret)
			for _, host := range []string{"registry.npmjs.org", "pypi.org", "files.pythonhosted.org"} {
				if admits := strings.Contains(string(secret.Data[squidConfigKey]), host); admits != slices.Contains(want.hosts, host) {
					t.Errorf("squid.conf names %s: %v", host, admits)
				}
			}
		})
	}
}

func TestTheMirrorsEnvironmentHasAStableOrder(t *testing.T) {
	env := mirrorWorld(t, v1alpha1.EcosystemPip).pod(v1alpha1.RoleMirror).Spec.Containers[0].Env
	if !slices.IsSortedFunc(env, func(a, b corev1.EnvVar) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("the environment is %v", env)
	}
}
