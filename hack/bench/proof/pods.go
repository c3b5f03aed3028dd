package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/hack/bench/report"
)

// podWatch sees the pods of one run come and become ready. The API's own moments have
// whole seconds; these are of this program's clock.
type podWatch struct {
	bench  *bench
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu           sync.Mutex
	run          types.UID
	created      map[string]time.Time // by role
	ready        map[string]time.Time
	firstPackage time.Time
	peak         map[string]int64
	problem      error
}

// watchPods begins before the run exists, so that nothing is missed.
func (b *bench) watchPods(ctx context.Context) (*podWatch, error) {
	ctx, cancel := context.WithCancel(ctx)
	events, err := b.kube.Watch(ctx, &corev1.PodList{}, client.InNamespace(b.runNamespace), client.HasLabels{v1alpha1.RunUIDLabel})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("watching the run's pods: %w", err)
	}
	w := &podWatch{bench: b, cancel: cancel, created: map[string]time.Time{}, ready: map[string]time.Time{}, peak: map[string]int64{}}
	w.done.Go(func() {
		for event := range events.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok && event.Type != apiwatch.Deleted {
				w.see(ctx, pod, time.Now())
			}
		}
	})
	w.done.Go(func() { w.sampleMemory(ctx) })
	return w, nil
}

// of says which run's pods are meant; those seen before are not. The proxy's pods come
// only after the node agent has read the source.
func (w *podWatch) of(run types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.run = run
}

func (w *podWatch) stop() {
	w.cancel()
	w.done.Wait()
}

// see notes the first sight of a pod and of its readiness.
func (w *podWatch) see(ctx context.Context, pod *corev1.Pod, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	role := pod.Labels[v1alpha1.RoleLabel]
	if w.run == "" || pod.Labels[v1alpha1.RunUIDLabel] != string(w.run) {
		return
	}
	if w.created[role].IsZero() {
		w.created[role] = now
	}
	if !w.ready[role].IsZero() || !isReady(pod) {
		return
	}
	w.ready[role] = now
	if role == v1alpha1.RoleSquid {
		w.done.Go(func() { w.awaitPackage(ctx, pod.Name) })
	}
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// awaitPackage follows Squid's log to the first thing that it let in.
func (w *podWatch) awaitPackage(ctx context.Context, pod string) {
	log, err := w.bench.typed.CoreV1().Pods(w.bench.runNamespace).GetLogs(pod, &corev1.PodLogOptions{Follow: true}).Stream(ctx)
	if err != nil {
		w.fail(fmt.Errorf("following Squid's log: %w", err))
		return
	}
	defer log.Close()
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if served(lines.Bytes()) {
			w.mu.Lock()
			w.firstPackage = time.Now()
			w.mu.Unlock()
			return
		}
	}
}

// served: the line is of a request that was admitted and answered.
func served(line []byte) bool {
	var entry struct {
		Rule   string `json:"rule"`
		Status int    `json:"status"`
		Method string `json:"method"`
	}
	return json.Unmarshal(line, &entry) == nil && entry.Method == "GET" && entry.Status == 200 && strings.HasPrefix(entry.Rule, "allow_")
}

func (w *podWatch) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.problem == nil {
		w.problem = err
	}
}

// addTo adds what was seen to the run's own figures.
func (w *podWatch) addTo(run *report.Run) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.problem != nil {
		return w.problem
	}
	begun := w.created[v1alpha1.RoleMirror]
	ready := w.ready[v1alpha1.RoleMirror]
	if squid := w.ready[v1alpha1.RoleSquid]; squid.After(ready) {
		ready = squid
	}
	if begun.IsZero() || w.ready[v1alpha1.RoleSquid].IsZero() || w.ready[v1alpha1.RoleMirror].IsZero() || w.firstPackage.IsZero() {
		return fmt.Errorf("run %s: its proxy was not seen: created %v, ready %v, first package %v", run.Name, w.created, w.ready, w.firstPackage)
	}
	run.Millis["proxyPodsToReady"] = ready.Sub(begun).Milliseconds()
	run.Millis["proxyPodsToFirstPackage"] = w.firstPackage.Sub(begun).Milliseconds()
	run.PodPeakBytes = maps.Clone(w.peak)
	return nil
}
