package ztrun

import (
	"context"
	"crypto/sha256"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// sourceDigestAnnotation carries the SHA-256 of the copied bundle: what the node
// agent says it read is compared with it.
const sourceDigestAnnotation = "zt.ai-dossier.org/source-digest"

// source copies the user's bundle into the run namespace, once per attempt and
// immutable: the node agent reads no tenant's namespace, and what it reads cannot
// change under it.
func (r *Reconciler) source(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.placed() {
		return ctrl.Result{}, nil
	}
	key := types.NamespacedName{Namespace: r.RunNamespace, Name: s.name(v1alpha1.RoleSource)}
	copied, err := r.read(ctx, key, &corev1.ConfigMap{})
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read the copied source: %w", err)
	}
	if copied {
		return ctrl.Result{}, nil
	}
	bundle, err := r.userBundle(ctx, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	_, err = ensure(ctx, r, v1alpha1.ConditionScheduled, r.sourceConfigMap(s, bundle))
	return ctrl.Result{}, placementRejected(s, err)
}

func (r *Reconciler) userBundle(ctx context.Context, s *scope) ([]byte, error) {
	ref := s.run.Spec.Source.Bundle.ConfigMapRef
	config := &corev1.ConfigMap{}
	err := r.Live.Get(ctx, types.NamespacedName{Namespace: s.run.Namespace, Name: ref.Name}, config)
	switch {
	case apierrors.IsNotFound(err):
		return nil, refuse(v1alpha1.ResultInvalidSource, v1alpha1.DetailBundleMissing, ref.Name,
			"there is no ConfigMap %q in namespace %s; create it with the git bundle before the run", ref.Name, s.run.Namespace)
	case err != nil:
		return nil, fmt.Errorf("read the source bundle: %w", err)
	}
	bundle := config.BinaryData[keyOf(&ref)]
	switch {
	case len(bundle) == 0:
		return nil, refuse(v1alpha1.ResultInvalidSource, v1alpha1.DetailBundleMissing, ref.Name,
			"ConfigMap %q has no binaryData key %q, or it is empty; put the git bundle there", ref.Name, keyOf(&ref))
	case len(bundle) > maxBundleBytes:
		return nil, refuse(v1alpha1.ResultInvalidSource, v1alpha1.DetailBundleTooLarge, ref.Name,
			"the bundle has %d bytes, at most %d are read; bundle fewer commits", len(bundle), maxBundleBytes)
	}
	return bundle, nil
}

func (r *Reconciler) sourceConfigMap(s *scope, bundle []byte) *corev1.ConfigMap {
	meta := r.meta(s, v1alpha1.RoleSource, v1alpha1.RoleSource)
	meta.Annotations[sourceDigestAnnotation] = fmt.Sprintf("sha256:%x", sha256.Sum256(bundle))
	return &corev1.ConfigMap{
		ObjectMeta: meta,
		Immutable:  ptr.To(true),
		BinaryData: map[string][]byte{v1alpha1.DefaultBundleKey: bundle},
	}
}
