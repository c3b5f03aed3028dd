package ztrun

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/controllers/internal/baked"
)

const (
	// qemuOverheadMiB is added to the guest's memory for QEMU itself and its page
	// cache of the run's disks.
	qemuOverheadMiB = 256

	// holderUID is the unprivileged user of the vm pod's container.
	holderUID = 65532

	// podGraceSeconds is what a pod gets to stop: none of them has state to save.
	podGraceSeconds = 5
)

// vmPod is the pod whose requests, cgroup and network namespace are the VMs'. It
// holds one container that does nothing.
func (r *Reconciler) vmPod(s *scope) *corev1.Pod {
	pod := r.runPod(s, v1alpha1.RoleVM, holderUID)
	pod.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: "linux"}
	for key, value := range s.profile.Spec.NodeSelector {
		pod.Spec.NodeSelector[key] = value
	}
	key, value := baked.Label(s.profile)
	pod.Spec.NodeSelector[key] = value
	withoutDNS(pod)
	container := r.runContainer("holder", r.HolderImage)
	container.Resources = vmResources(s.profile.Spec.VM, s.profile.Spec.ParallelTrees)
	pod.Spec.Containers = []corev1.Container{container}
	return pod
}

// vmResources are those of the VMs that run at once: the scheduler reserves them and
// the cgroup binds them.
func vmResources(vm v1alpha1.VMSpec, parallelTrees int32) corev1.ResourceRequirements {
	vms := int64(max(1, parallelTrees))
	cpus := *resource.NewQuantity(int64(vm.CPUs)*vms, resource.DecimalSI)
	request := cpus
	if vm.CPURequest != nil {
		request = *resource.NewMilliQuantity(vm.CPURequest.MilliValue()*vms, resource.DecimalSI)
	}
	memory := *resource.NewQuantity(int64(vm.MemoryMiB+qemuOverheadMiB)*vms<<20, resource.BinarySI)
	disk := *resource.NewQuantity(int64(vm.DiskMiB)*vms<<20, resource.BinarySI)
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU: request, corev1.ResourceMemory: memory, corev1.ResourceEphemeralStorage: disk,
		},
		Limits: corev1.ResourceList{
			corev1.ResourceCPU: cpus, corev1.ResourceMemory: memory, corev1.ResourceEphemeralStorage: disk,
		},
	}
}

// runPod is what every pod of a run has: the restricted Pod Security Standard, no
// credentials, no second life.
func (r *Reconciler) runPod(s *scope, role string, uid int64) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: r.meta(s, role, role),
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			AutomountServiceAccountToken:  ptr.To(false),
			EnableServiceLinks:            ptr.To(false),
			TerminationGracePeriodSeconds: ptr.To[int64](podGraceSeconds),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:   ptr.To(true),
				RunAsUser:      ptr.To(uid),
				RunAsGroup:     ptr.To(uid),
				FSGroup:        ptr.To(uid),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
		},
	}
}

// runContainer is what every container of a run has.
func (r *Reconciler) runContainer(name, image string) corev1.Container {
	return corev1.Container{
		Name:            name,
		Image:           image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false),
			ReadOnlyRootFilesystem:   ptr.To(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// withoutDNS gives a pod a resolver that answers nothing. Its NetworkPolicy already
// stops every query; this makes a lookup fail at once.
func withoutDNS(pod *corev1.Pod) {
	pod.Spec.DNSPolicy = corev1.DNSNone
	pod.Spec.DNSConfig = &corev1.PodDNSConfig{Nameservers: []string{"127.0.0.1"}}
}
