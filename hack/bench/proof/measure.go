package main

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/hack/bench/report"
	"github.com/ai-dossier/zt-operator/internal/cli/follow"
	"github.com/ai-dossier/zt-operator/internal/cli/submit"
)

// measure proves every fixture in every round, in a namespace that goes again.
func (b *bench) measure(ctx context.Context) (runs []report.Run, err error) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "zt-bench-"}}
	if err := b.kube.Create(ctx, ns); err != nil {
		return nil, fmt.Errorf("making a namespace: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if gone := b.kube.Delete(ctx, ns); gone != nil && err == nil {
			err = fmt.Errorf("deleting namespace %s: %w", ns.Name, gone)
		}
	}()
	for range b.rounds {
		for _, ecosystem := range b.ecosystems {
			run, err := b.prove(ctx, ecosystem, ns.Name)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", ecosystem, err)
			}
			runs = append(runs, run)
		}
	}
	return runs, nil
}

// prove takes one run from its creation to its end, watching its pods.
func (b *bench) prove(ctx context.Context, ecosystem, namespace string) (report.Run, error) {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	r, err := b.request(ctx, ecosystem, namespace)
	if err != nil {
		return report.Run{}, err
	}
	cm, run, err := r.Objects()
	if err != nil {
		return report.Run{}, fmt.Errorf("making the run: %w", err)
	}
	watch, err := b.watchPods(ctx)
	if err != nil {
		return report.Run{}, err
	}
	defer watch.stop()
	if err := submit.Create(ctx, b.kube, cm, run); err != nil {
		return report.Run{}, fmt.Errorf("submitting: %w", err)
	}
	watch.of(run.UID)
	f := &follow.Follower{Client: b.kube, Clock: clock.RealClock{}, Display: follow.NewPlain(os.Stderr)}
	final, err := f.Follow(ctx, client.ObjectKeyFromObject(run))
	if err != nil {
		return report.Run{}, fmt.Errorf("run %s did not complete within %s: %w", run.Name, b.timeout, err)
	}
	return result(final, watch)
}

// result refuses the figures of a run that did not do all of its work, or did it twice.
func result(final *v1alpha1.ZTRun, watch *podWatch) (report.Run, error) {
	if outcome := final.Status.Outcome; outcome == nil || outcome.Result != v1alpha1.ResultReproducedAndFixed {
		return report.Run{}, fmt.Errorf("run %s is not %s but %+v; kubectl describe ztr shows more", final.Name, v1alpha1.ResultReproducedAndFixed, outcome)
	}
	if final.Status.Attempt != 1 {
		return report.Run{}, fmt.Errorf("run %s needed %d attempts: it was interrupted, so its figures are of several", final.Name, final.Status.Attempt)
	}
	measured, err := report.OfRun(final)
	if err != nil {
		return report.Run{}, fmt.Errorf("run %s: %w", final.Name, err)
	}
	return measured, watch.addTo(&measured)
}
