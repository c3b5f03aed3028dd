package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// start is what to do where there is nothing to measure on.
const start = "make demo starts a cluster and installs the chart; with CLUSTER=existing REGISTRY=… it installs into yours"

// bench proves fixtures on a cluster.
type bench struct {
	repositories, profile, runNamespace string
	ecosystems                          []string
	rounds                              int
	timeout                             time.Duration

	kube client.WithWatch
	// typed reads logs and the kubelets' statistics.
	typed kubernetes.Interface
}

// connect refuses a cluster on which figures would mean nothing.
func (b *bench) connect(ctx context.Context) error {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("making the scheme: %w", err)
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("there is no kubeconfig: %w; %s", err, start)
	}
	if b.kube, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("the cluster does not answer: %w; %s", err, start)
	}
	if b.typed, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	profile := &v1alpha1.ZTProfile{}
	if err := b.kube.Get(ctx, client.ObjectKey{Name: b.profile}, profile); err != nil {
		return fmt.Errorf("reading profile %s: %w; %s", b.profile, err, start)
	}
	if !meta.IsStatusConditionTrue(profile.Status.Conditions, v1alpha1.ConditionReady) {
		return fmt.Errorf("profile %s is not Ready: kubectl describe ztp %s says why", b.profile, b.profile)
	}
	return b.alone(ctx)
}

// alone refuses to measure beside other runs.
func (b *bench) alone(ctx context.Context) error {
	runs := &v1alpha1.ZTRunList{}
	if err := b.kube.List(ctx, runs); err != nil {
		return fmt.Errorf("listing runs: %w", err)
	}
	for i := range runs.Items {
		run := &runs.Items[i]
		if !meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionComplete) && !run.Spec.Suspend {
			return fmt.Errorf("run %s/%s is not complete; wait for it (kubectl zt watch -n %s %s) or delete it: figures taken beside it would be of both",
				run.Namespace, run.Name, run.Namespace, run.Name)
		}
	}
	return nil
}

// images are the digests of the installed operator and node agent.
func (b *bench) images(ctx context.Context) (map[string]string, error) {
	pods := &corev1.PodList{}
	if err := b.kube.List(ctx, pods, client.MatchingLabels{"app.kubernetes.io/name": "zt-operator"}); err != nil {
		return nil, fmt.Errorf("listing the operator's pods: %w", err)
	}
	images := map[string]string{}
	for _, pod := range pods.Items {
		images[pod.Labels["app.kubernetes.io/component"]] = pod.Spec.Containers[0].Image
	}
	if len(images) == 0 {
		return nil, fmt.Errorf("no pod of the operator runs; %s", start)
	}
	return images, nil
}
