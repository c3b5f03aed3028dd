package ztrun

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/test/builders"
)

func TestTheSourceIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		config *corev1.ConfigMap
		detail v1alpha1.Detail
		text   string
	}{
		"when its ConfigMap does not exist": {nil, v1alpha1.DetailBundleMissing, `no ConfigMap "fix" in namespace team-a`},
		"when its ConfigMap has another key": {
			&corev1.ConfigMap{BinaryData: map[string][]byte{"other": bundle}}, v1alpha1.DetailBundleMissing, `no binaryData key "bundle"`,
		},
		"when it is text instead of binary data": {
			&corev1.ConfigMap{Data: map[string]string{"bundle": "text"}}, v1alpha1.DetailBundleMissing, `no binaryData key "bundle"`,
		},
		"when it is larger than a ConfigMap can be": {
			&corev1.ConfigMap{BinaryData: map[string][]byte{"bundle": make([]byte, maxBundleBytes+1)}},
			v1alpha1.DetailBundleTooLarge, "1048577 bytes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := readyWorld(t)
			w.remove(builders.Bundle("team-a", "fix", nil))
			if tc.config != nil {
				tc.config.Namespace, tc.config.Name = "team-a", "fix"
				w.create(tc.config)
			}
			w.pass()
			w.wantOutcome(v1alpha1.ResultInvalidSource, tc.detail, tc.text)
			w.wantCondition(v1alpha1.ConditionAdmitted, metav1.ConditionTrue, v1alpha1.DetailAdmitted, "")
			w.wantCondition(v1alpha1.ConditionSourceRead, metav1.ConditionFalse, tc.detail, tc.text)
			if made := w.objects(); len(made) > 0 {
				t.Errorf("a refused run made %v", made)
			}
			w.wantComplete()
		})
	}
}

func TestTheSourceIsCopiedAndCannotChange(t *testing.T) {
	w, run := readyWorld(t)
	w.toVMPod()
	copied := &corev1.ConfigMap{}
	w.get(types.NamespacedName{Namespace: runNamespace, Name: "ztr-" + string(run.UID) + "-1-source"}, copied)
	if string(copied.BinaryData["bundle"]) != string(bundle) || copied.Immutable == nil || !*copied.Immutable {
		t.Errorf("the copy has %q, immutable %v", copied.BinaryData["bundle"], copied.Immutable)
	}
	if got := copied.Annotations[sourceDigestAnnotation]; got != bundleDigest {
		t.Errorf("the copy's digest is %s, want %s", got, bundleDigest)
	}
}

func TestTheVMPodCarriesTheVMsResourcesAndNothingElse(t *testing.T) {
	w, run := readyWorld(t)
	half := resource.MustParse("500m")
	edit(w, builders.Profile("default").Object(), func(p *v1alpha1.ZTProfile) {
		p.Spec.VM.CPURequest, p.Spec.ParallelTrees = &half, 3
		p.Spec.NodeSelector = map[string]string{"pool": "vms"}
	})
	w.toVMPod()
	pod := w.pod(v1alpha1.RoleVM)
	if len(pod.Spec.Containers) != 1 || len(pod.Spec.Volumes) != 0 {
		t.Fatalf("the vm pod has %d containers and %d volumes", len(pod.Spec.Containers), len(pod.Spec.Volumes))
	}
	got := pod.Spec.Containers[0].Resources
	for what, pair := range map[string][2]string{
		"cpu request":    {got.Requests.Cpu().String(), "1500m"},
		"cpu limit":      {got.Limits.Cpu().String(), "6"},
		"memory request": {got.Requests.Memory().String(), "6912Mi"},
		"memory limit":   {got.Limits.Memory().String(), "6912Mi"},
		"disk request":   {got.Requests.StorageEphemeral().String(), "12Gi"},
		"disk limit":     {got.Limits.StorageEphemeral().String(), "12Gi"},
		"baked label":    {pod.Spec.NodeSelector["baked.zt.ai-dossier.org/default"], "0123456789abcdef"},
		"own selector":   {pod.Spec.NodeSelector["pool"], "vms"},
		"run uid":        {pod.Labels[v1alpha1.RunUIDLabel], string(run.UID)},
		"attempt":        {pod.Labels[v1alpha1.AttemptLabel], "1"},
		"run name":       {pod.Annotations[v1alpha1.RunNameAnnotation], "fix"},
		"run namespace":  {pod.Annotations[v1alpha1.RunNamespaceAnnotation], "team-a"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %q, want %q", what, pair[0], pair[1])
		}
	}
	wantRestricted(t, pod)
}

// wantRestricted checks what the restricted Pod Security Standard asks for, and that
// the pod has no credentials.
func wantRestricted(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	p := pod.Spec.SecurityContext
	if p == nil || p.RunAsNonRoot == nil || !*p.RunAsNonRoot || p.SeccompProfile == nil || p.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("pod %s is not restricted: %+v", pod.Name, p)
	}
	for _, c := range pod.Spec.Containers {
		s := c.SecurityContext
		if s == nil || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || len(s.Capabilities.Drop) != 1 || s.Capabilities.Drop[0] != "ALL" {
			t.Errorf("container %s of pod %s is not restricted: %+v", c.Name, pod.Name, s)
		}
	}
	if *pod.Spec.AutomountServiceAccountToken || *pod.Spec.EnableServiceLinks || pod.Spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("pod %s has a token, service links or a second life", pod.Name)
	}
}

func TestAnUnschedulablePodWaitsForRoomInBoundedTime(t *testing.T) {
	w, _ := readyWorld(t)
	w.toVMPod()
	edit(w, w.pod(v1alpha1.RoleVM), func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes: Insufficient memory.",
		}}
	})
	result := w.settle()
	w.wantCondition(v1alpha1.ConditionScheduled, metav1.ConditionFalse, v1alpha1.DetailWaitingForCapacity, "Insufficient memory")
	if result.RequeueAfter != 600*time.Second {
		t.Errorf("the next pass is in %s, want the placement bound", result.RequeueAfter)
	}
	w.advance(601 * time.Second)
	w.pass()
	w.wantOutcome(v1alpha1.ResultNotAdmitted, v1alpha1.DetailCapacityTimedOut, "Insufficient memory")
	w.wantCondition(v1alpha1.ConditionScheduled, metav1.ConditionFalse, v1alpha1.DetailCapacityTimedOut, "")
	w.wantComplete()
}

func TestABoundPodThatDoesNotStartIsNamed(t *testing.T) {
	w, _ := readyWorld(t)
	w.toVMPod()
	edit(w, w.pod(v1alpha1.RoleVM), func(p *corev1.Pod) {
		p.Spec.NodeName = node1
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "holder", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "not found"}},
		}}
	})
	w.settle()
	w.wantCondition(v1alpha1.ConditionScheduled, metav1.ConditionFalse, v1alpha1.DetailVMPodStarting, "holder: ImagePullBackOff not found")
	w.advance(601 * time.Second)
	w.pass()
	w.wantOutcome(v1alpha1.ResultExecutionFailed, v1alpha1.DetailVMPodFailed, "ImagePullBackOff")
	w.wantComplete()
}

func TestAQuotaThatRefusesTheVMPodIsShownInBoundedTime(t *testing.T) {
	w, _ := readyWorld(t)
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "x", errAPI)
	w.fail = func(verb string, o runtime.Object) error {
		if _, pod := o.(*corev1.Pod); pod && verb == "create" {
			return forbidden
		}
		return nil
	}
	w.settle()
	w.wantCondition(v1alpha1.ConditionScheduled, metav1.ConditionFalse, v1alpha1.DetailWaitingForCapacity, "the API server refused")
	w.advance(601 * time.Second)
	w.pass()
	w.wantOutcome(v1alpha1.ResultNotAdmitted, v1alpha1.DetailCapacityTimedOut, "the API server refused")
	w.fail = nil
	w.wantComplete()
}

func TestAPlacedRunTellsTheNodeAgentEverythingAtOnce(t *testing.T) {
	w, _ := readyWorld(t)
	w.toPlaced()
	status := w.run().Status
	pod := w.pod(v1alpha1.RoleVM)
	if status.NodeName != node1 || status.Attempt != 1 || status.VMPod == nil || status.VMPod.UID != pod.UID || status.VMPod.Name != pod.Name {
		t.Errorf("status has node %q, attempt %d, pod %+v", status.NodeName, status.Attempt, status.VMPod)
	}
	if status.Phase != v1alpha1.PhaseReadingSource {
		t.Errorf("phase is %s, want ReadingSource", status.Phase)
	}
	w.wantCondition(v1alpha1.ConditionSourceRead, metav1.ConditionFalse, v1alpha1.DetailReadingSource, node1)
}

func TestAProfileThatChangesReplacesAnUnboundPodOnly(t *testing.T) {
	const next = "sha256:ffffffffffffffff0123456789abcdef0123456789abcdef0123456789abcdef"
	for name, bound := range map[string]bool{"the scheduler has not bound the pod": false, "the pod is bound": true} {
		t.Run(name, func(t *testing.T) {
			w, _ := readyWorld(t)
			w.toVMPod()
			if bound {
				edit(w, w.pod(v1alpha1.RoleVM), func(p *corev1.Pod) { p.Spec.NodeName = node1 })
			}
			edit(w, builders.Profile("default").Object(), func(p *v1alpha1.ZTProfile) { p.Status.SpecDigest = next })
			w.settle()
			got := w.pod(v1alpha1.RoleVM).Spec.NodeSelector["baked.zt.ai-dossier.org/default"]
			if replaced := strings.HasPrefix(got, "ffff"); replaced == bound {
				t.Errorf("the vm pod selects on %s", got)
			}
		})
	}
}
