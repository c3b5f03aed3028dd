package ztrun

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/cacheaudit"
)

func TestTheAuditorReadsTheMirrorsStorageAndNothingElse(t *testing.T) {
	w, _ := readyWorld(t)
	w.toProxyStarting()
	pod := w.pod(v1alpha1.RoleMirror)
	if len(pod.Spec.Containers) != 2 {
		t.Fatalf("%d containers, want the mirror and its auditor", len(pod.Spec.Containers))
	}
	mirror, auditor := pod.Spec.Containers[0], pod.Spec.Containers[1]
	if auditor.Image != w.r.HolderImage || len(auditor.VolumeMounts) != 1 || !auditor.VolumeMounts[0].ReadOnly || len(auditor.Env) != 0 {
		t.Errorf("the auditor is %+v", auditor)
	}
	if !*auditor.SecurityContext.ReadOnlyRootFilesystem || *auditor.SecurityContext.AllowPrivilegeEscalation {
		t.Errorf("the auditor's security context is %+v", auditor.SecurityContext)
	}
	for _, mount := range mirror.VolumeMounts {
		if mount.Name == auditor.VolumeMounts[0].Name && mount.ReadOnly {
			t.Error("the mirror cannot write what the auditor reads")
		}
	}
	np := &networkingv1.NetworkPolicy{}
	w.get(types.NamespacedName{Namespace: runNamespace, Name: pod.Name}, np)
	if len(np.Spec.Ingress) != 1 || len(np.Spec.Ingress[0].From) != 1 {
		t.Fatalf("the mirror's ingress is %+v, want the node agent alone", np.Spec.Ingress)
	}
	var ports []int32
	for _, port := range np.Spec.Ingress[0].Ports {
		ports = append(ports, port.Port.IntVal)
	}
	if len(ports) != 2 || ports[0] != 4873 || ports[1] != cacheaudit.Port {
		t.Errorf("the node agent reaches ports %v", ports)
	}
}

// A pod with two containers goes on running when one of them has ended.
func TestAMirrorThatEndsBesideItsAuditorIsSeen(t *testing.T) {
	for _, container := range []string{"mirror", "auditor"} {
		w, _ := readyWorld(t)
		w.toRunning()
		edit(w, w.pod(v1alpha1.RoleMirror), func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: container, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error"}},
			}}
		})
		w.pass()
		w.wantCondition(v1alpha1.ConditionScheduled, metav1.ConditionFalse, v1alpha1.DetailAttemptInterrupted, container+": exit status 137 Error")
	}
}

func TestAMirrorOrSquidThatCannotStartIsNamedInBoundedTime(t *testing.T) {
	for name, tc := range map[string]struct {
		role  string
		state corev1.ContainerState
		says  string
	}{
		"the mirror's image is missing": {v1alpha1.RoleMirror, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason: "ImagePullBackOff", Message: "not found"}}, "mirror: container main: ImagePullBackOff not found"},
		"Squid's image is missing": {v1alpha1.RoleSquid, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason: "ErrImagePull", Message: "not found"}}, "squid: container main: ErrImagePull not found"},
		"Squid never listens": {v1alpha1.RoleSquid, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
			"squid: container main: running, not ready"},
		"Squid refuses its configuration": {v1alpha1.RoleSquid, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 1, Reason: "Error", Message: "WARNING: no"}}, "the squid pod ended before it was ready"},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := readyWorld(t)
			w.toProxyStarting()
			if tc.role == v1alpha1.RoleSquid {
				w.kubelet(v1alpha1.RoleMirror, "10.244.0.6")
				w.settle()
			}
			edit(w, w.pod(tc.role), func(pod *corev1.Pod) {
				pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: tc.state}}
			})
			w.settle()
			if w.run().Status.Ended() == nil {
				w.wantCondition(v1alpha1.ConditionProxyReady, metav1.ConditionFalse, v1alpha1.DetailProxyStarting, tc.says)
			}
			w.advance(proxyReadyBound)
			w.pass()
			w.settle()
			w.advance(cleanedBound)
			w.wantPaused(v1alpha1.DetailProxyNotReady, tc.says)
		})
	}
}
