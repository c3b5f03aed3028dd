package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/safetext"
	"github.com/ai-dossier/zt-operator/nodeagent/engine"
	"github.com/ai-dossier/zt-operator/nodeagent/image"
)

// bakeRetry is how long a failed bake waits for its next try: registries and
// disks recover, pins do not change by themselves.
const bakeRetry = time.Minute

// Accelerators says which accelerator VMs of a policy get on this node.
type Accelerators interface {
	Select(ctx context.Context, policy v1alpha1.AcceleratorPolicy, manifest *image.Manifest) (v1alpha1.Accelerator, error)
}

// ProfileReconciler bakes the profiles whose node selector matches this node.
type ProfileReconciler struct {
	Host         *Host
	Client       client.Client
	Node         string
	Accelerators Accelerators
}

// SetupWithManager registers the reconciler.
func (r *ProfileReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("profile").For(&v1alpha1.ZTProfile{}).Complete(r)
}

// Reconcile bakes one profile and says how it went.
func (r *ProfileReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var profile v1alpha1.ZTProfile
	if err := r.Client.Get(ctx, req.NamespacedName, &profile); err != nil {
		r.Host.Profiles.set(req.Name, nil)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	selected, err := r.selects(ctx, &profile)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !selected {
		r.Host.Profiles.set(profile.Name, nil)
		return ctrl.Result{}, r.withdraw(ctx, &profile)
	}
	if r.Host.Profiles.current(profile.Name, profile.Generation) {
		return ctrl.Result{}, nil
	}
	return r.bake(ctx, &profile)
}

func (r *ProfileReconciler) selects(ctx context.Context, profile *v1alpha1.ZTProfile) (bool, error) {
	if len(profile.Spec.NodeSelector) == 0 {
		return true, nil
	}
	var node corev1.Node
	if err := r.Host.Client.Get(ctx, types.NamespacedName{Name: r.Node}, &node); err != nil {
		return false, fmt.Errorf("reading this node's labels: %w", err)
	}
	return labels.SelectorFromSet(profile.Spec.NodeSelector).Matches(labels.Set(node.Labels)), nil
}

func (r *ProfileReconciler) bake(ctx context.Context, profile *v1alpha1.ZTProfile) (ctrl.Result, error) {
	say := func(message string) {
		log.FromContext(ctx).Info("baking", "step", message)
		if err := r.report(ctx, profile, v1alpha1.NodeBake{State: v1alpha1.BakeBaking, Message: message}); err != nil {
			log.FromContext(ctx).Error(err, "reporting the bake")
		}
	}
	say("starting")
	baked, err := r.bakeProfile(ctx, profile, say)
	if err != nil {
		if reportErr := r.report(ctx, profile, failedBake(err)); reportErr != nil {
			return ctrl.Result{}, reportErr
		}
		log.FromContext(ctx).Error(err, "bake failed")
		return ctrl.Result{RequeueAfter: bakeRetry}, nil
	}
	r.Host.Profiles.set(profile.Name, baked)
	if err := r.Host.Images.Keep(ctx, r.Host.Profiles.manifests()...); err != nil {
		log.FromContext(ctx).Error(err, "removing images that no profile needs any more")
	}
	return ctrl.Result{}, r.report(ctx, profile, v1alpha1.NodeBake{
		State: v1alpha1.BakeBaked, Accelerator: baked.Accelerator, ManifestDigest: baked.Manifest.Digest,
	})
}

func (r *ProfileReconciler) bakeProfile(ctx context.Context, profile *v1alpha1.ZTProfile, say func(string)) (*BakedProfile, error) {
	manifest, err := r.Host.Images.Bake(ctx, profile.Spec, say)
	if err != nil {
		return nil, err
	}
	if err := r.Host.Images.Verify(manifest); err != nil {
		return nil, err
	}
	say("selecting the accelerator")
	accelerator, err := r.Accelerators.Select(ctx, profile.Spec.VM.Accelerator, manifest)
	if err != nil {
		return nil, err
	}
	return &BakedProfile{
		Generation: profile.Generation, Spec: *profile.Spec.DeepCopy(), Manifest: manifest, Accelerator: accelerator,
	}, nil
}

func failedBake(err error) v1alpha1.NodeBake {
	entry := v1alpha1.NodeBake{
		State: v1alpha1.BakeFailed, Detail: v1alpha1.DetailBakeFailed, Message: safetext.Line(err.Error(), 1024),
	}
	var unusable *image.Error
	var failure *engine.Failure
	switch {
	case errors.As(err, &unusable):
		entry.Detail = unusable.Detail
	case errors.As(err, &failure):
		entry.Detail = failure.Detail
	}
	return entry
}

// report writes this node's entry of the profile's status.
func (r *ProfileReconciler) report(ctx context.Context, profile *v1alpha1.ZTProfile, entry v1alpha1.NodeBake) error {
	entry.Name, entry.Generation = r.Node, profile.Generation
	converted, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&entry)
	if err != nil {
		return fmt.Errorf("converting the bake's record: %w", err)
	}
	return r.applyNodes(ctx, profile, []any{converted})
}

// withdraw removes this node's entry: a node that no longer matches has none.
func (r *ProfileReconciler) withdraw(ctx context.Context, profile *v1alpha1.ZTProfile) error {
	for i := range profile.Status.Nodes {
		if profile.Status.Nodes[i].Name == r.Node {
			return r.applyNodes(ctx, profile, []any{})
		}
	}
	return nil
}

func (r *ProfileReconciler) applyNodes(ctx context.Context, profile *v1alpha1.ZTProfile, nodes []any) error {
	patch := statusPatch("ZTProfile", profile.Name, map[string]any{"nodes": nodes})
	return r.Host.applyStatus(ctx, patch, client.FieldOwner("zt-nodeagent/"+r.Node))
}
