package ztrun

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/policy"
)

const (
	mirrorUID       = 1000
	mirrorConfigDir = "/etc/zt/mirror"
	// caCertKey is the run CA's certificate alone: the mirror trusts what Squid
	// signs with it, and never sees the key.
	caCertKey = "ca.crt"
)

// mirrorConfig is the package mirror's configuration. Squid is named by its Service's
// address: the mirror has no DNS.
func (r *Reconciler) mirrorConfig(s *scope, mirror v1alpha1.Mirror, ca *corev1.Secret, squid *corev1.Service) *corev1.ConfigMap {
	data := mirrorProgramOf(mirror.Ecosystem, squid).files
	data[caCertKey] = string(ca.Data[caCertKey])
	return &corev1.ConfigMap{ObjectMeta: r.meta(s, objectMirrorConfig, v1alpha1.RoleMirror), Immutable: ptr.To(true), Data: data}
}

// mirrorPod runs the package mirror. Its storage is empty at first and goes with it.
func (r *Reconciler) mirrorPod(s *scope, mirror v1alpha1.Mirror, squid *corev1.Service) *corev1.Pod {
	program := mirrorProgramOf(mirror.Ecosystem, squid)
	pod := r.runPod(s, v1alpha1.RoleMirror, mirrorUID)
	withoutDNS(pod)
	container := r.runContainer("mirror", mirror.Image)
	container.Env = program.env
	container.Ports = []corev1.ContainerPort{{Name: "mirror", ContainerPort: policy.VerdaccioPort}}
	container.StartupProbe = listening(policy.VerdaccioPort)
	container.Resources = podResources(250, program.memoryMiB, mirror.MemoryMiB)
	container.VolumeMounts = []corev1.VolumeMount{
		{Name: "config", MountPath: mirrorConfigDir, ReadOnly: true},
		{Name: "storage", MountPath: program.storage},
		{Name: "tmp", MountPath: "/tmp"},
	}
	pod.Spec.Containers = []corev1.Container{container, r.auditContainer()}
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: s.name(objectMirrorConfig)},
		}}},
		scratch("storage", mirror.CacheMiB),
		scratch("tmp", 256),
	}
	return pod
}

// listening is ready at the first accepted connection. A startup probe, because it
// then stops: a readiness probe every second would fill Squid's access log.
func listening(port int) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:     corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt(port)}},
		PeriodSeconds:    1,
		TimeoutSeconds:   1,
		FailureThreshold: int32(proxyReadyBound.Seconds()),
	}
}

// scratch is an empty volume of at most so many MiB.
func scratch(name string, limit int32) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: ptr.To(mebibytes(limit))},
	}}
}

// podResources lets a proxy pod burst in CPU and binds its memory. Its request is also
// its weight on a node whose VMs boot while it starts.
func podResources(milliCPU, memoryMiB, memoryLimitMiB int32) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(milliCPU), resource.DecimalSI),
			corev1.ResourceMemory: mebibytes(memoryMiB),
		},
		Limits: corev1.ResourceList{corev1.ResourceMemory: mebibytes(memoryLimitMiB)},
	}
}

func mebibytes(n int32) resource.Quantity {
	return *resource.NewQuantity(int64(n)<<20, resource.BinarySI)
}
