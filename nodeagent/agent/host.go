package agent

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/nodeagent/engine"
	"github.com/ai-dossier/zt-operator/nodeagent/image"
	"github.com/ai-dossier/zt-operator/nodeagent/safepath"
	"github.com/ai-dossier/zt-operator/nodeagent/source"
)

// Host is what all sessions of this node share.
type Host struct {
	// Client reads uncached: a source is read once.
	Client client.Client
	// RunNamespace is where run pods and source copies live.
	RunNamespace string
	// Runs holds one folder for each live session.
	Runs *safepath.Dir
	// FirstVMUID is the first of the user ids, one a session, that VMs and source
	// readers run as. Nothing else on the node may use this range.
	FirstVMUID uint32

	Engine   *engine.Engine
	Images   *image.Store
	Source   *source.Reader
	Profiles *Profiles
}

// bundle reads the operator's copy of the run's source.
func (h *Host) bundle(ctx context.Context, run *v1alpha1.ZTRun) ([]byte, error) {
	name := fmt.Sprintf("ztr-%s-%d-source", run.UID, run.Status.Attempt)
	var copied corev1.ConfigMap
	err := h.Client.Get(ctx, types.NamespacedName{Namespace: h.RunNamespace, Name: name}, &copied)
	if apierrors.IsNotFound(err) {
		return nil, &engine.Failure{Detail: v1alpha1.DetailBundleMissing, Err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the source: %w", err)
	}
	bundle, ok := copied.BinaryData[v1alpha1.DefaultBundleKey]
	if !ok {
		return nil, &engine.Failure{Detail: v1alpha1.DetailBundleMissing, Err: fmt.Errorf("ConfigMap %s has no key %s", name, v1alpha1.DefaultBundleKey)}
	}
	return bundle, nil
}
