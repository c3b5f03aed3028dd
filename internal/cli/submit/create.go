package submit

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// undoTimeout bounds taking back what was created.
const undoTimeout = 10 * time.Second

// Create creates the ConfigMap, then the run, and makes the run own the ConfigMap.
// The run comes second because the operator refuses one whose bundle is missing;
// if it cannot be created, the ConfigMap goes again.
func Create(ctx context.Context, c client.Client, cm *corev1.ConfigMap, run *v1alpha1.ZTRun) error {
	if err := c.Create(ctx, cm); err != nil {
		return fmt.Errorf("create configmap %s/%s: %w", cm.Namespace, cm.Name, err)
	}
	if err := c.Create(ctx, run); err != nil {
		undo(ctx, c, cm)
		return fmt.Errorf("create ztrun %s/%s: %w", run.Namespace, run.Name, err)
	}
	unowned := cm.DeepCopy()
	cm.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "ZTRun", Name: run.Name, UID: run.UID,
	}}
	if err := c.Patch(ctx, cm, client.MergeFrom(unowned)); err != nil {
		return fmt.Errorf("ztrun %s/%s was created, but configmap %s will not be deleted with it: %w",
			run.Namespace, run.Name, cm.Name, err)
	}
	return nil
}

// undo deletes the ConfigMap even if ctx has ended meanwhile. The caller has an
// error to report already, so a failure here adds nothing to it.
func undo(ctx context.Context, c client.Client, cm *corev1.ConfigMap) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	_ = c.Delete(ctx, cm, client.Preconditions{UID: &cm.UID})
}
