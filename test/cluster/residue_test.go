//go:build cluster

package cluster

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// nothingLeft checks that no object and no process of the run is left.
func nothingLeft(t *testing.T, run *v1alpha1.ZTRun) {
	t.Helper()
	for _, thing := range left(t, run) {
		t.Errorf("left of the run: %s", thing)
	}
}

// left names the objects and processes of a run that are still there.
func left(t *testing.T, run *v1alpha1.ZTRun) (things []string) {
	t.Helper()
	for kind, list := range map[string]client.ObjectList{
		"pods": &corev1.PodList{}, "services": &corev1.ServiceList{}, "configmaps": &corev1.ConfigMapList{},
		"secrets": &corev1.SecretList{}, "networkpolicies": &networkingv1.NetworkPolicyList{},
	} {
		err := kube.List(t.Context(), list, client.InNamespace(runNamespace), client.MatchingLabels{v1alpha1.RunUIDLabel: string(run.UID)})
		if err != nil {
			t.Fatal(err)
		}
		if n := meta.LenList(list); n != 0 {
			things = append(things, fmt.Sprintf("%d %s", n, kind))
		}
	}
	if run.Status.VMPod != nil {
		for _, process := range processesOf(t, string(run.Status.VMPod.UID)) {
			things = append(things, "process "+process)
		}
	}
	return things
}

// processesOf returns the command lines of the machine's processes in the cgroup of
// a pod. On another machine's cluster there are none to see.
func processesOf(t *testing.T, podUID string) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range paths {
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(podUID)) {
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			found = append(found, string(bytes.ReplaceAll(command, []byte{0}, []byte{' '})))
		}
	}
	return found
}
