package ztrun

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/ai-dossier/zt-operator/internal/cacheaudit"
)

const auditedStorageDir = "/storage"

// auditContainer hashes what the mirror beside it has cached, for the node agent. It
// only reads, and as the mirror's own user: proxpi's files are nobody else's to read.
func (r *Reconciler) auditContainer() corev1.Container {
	container := r.runContainer("auditor", r.HolderImage)
	container.Args = []string{"cache-audit", auditedStorageDir}
	container.Ports = []corev1.ContainerPort{{Name: "audit", ContainerPort: cacheaudit.Port}}
	container.Resources = podResources(10, 16, 64)
	container.VolumeMounts = []corev1.VolumeMount{{Name: "storage", MountPath: auditedStorageDir, ReadOnly: true}}
	return container
}
