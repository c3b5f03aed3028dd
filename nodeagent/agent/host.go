package agent

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/cacheaudit"
	"github.com/ai-dossier/zt-operator/nodeagent/engine"
	"github.com/ai-dossier/zt-operator/nodeagent/image"
	"github.com/ai-dossier/zt-operator/nodeagent/safepath"
	"github.com/ai-dossier/zt-operator/nodeagent/source"
)

// Pod is the vm pod of one attempt, on this node.
type Pod interface {
	engine.Pod
	// Release ends whatever still runs in the pod beside its own containers.
	Release() error
}

// Images is this node's store of what VMs boot from.
type Images interface {
	engine.Disks
	// Bake makes or finds everything the VMs of a profile boot from.
	Bake(ctx context.Context, spec v1alpha1.ZTProfileSpec, progress func(string)) (*image.Manifest, error)
	// Verify proves that every file of a manifest is what was baked.
	Verify(manifest *image.Manifest) error
	// Keep removes every image that none of these manifests names.
	Keep(ctx context.Context, digests ...string) error
}

// Host is what all sessions of this node share.
type Host struct {
	// Client reads uncached: a source is read once.
	Client client.Client
	// RunNamespace is where run pods and source copies live.
	RunNamespace string
	// Runs holds one folder for each live session.
	Runs *safepath.Dir
	// FirstVMUID is the first of the user ids, a few for each session, that VMs and
	// source readers run as. Nothing else on the node may use this range.
	FirstVMUID uint32

	Engine   *engine.Engine
	Images   Images
	Source   *source.Reader
	Profiles *Profiles
	// ListCache asks the auditor beside the mirror at an address; see ListCache.
	ListCache func(context.Context, netip.Addr) ([]cacheaudit.Artifact, error)
	// FindPod finds a running pod of this node by its uid.
	FindPod func(types.UID) (Pod, error)
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
