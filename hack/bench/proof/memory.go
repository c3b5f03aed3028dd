package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// sampleEvery is half of what the kubelet needs to look again.
const sampleEvery = 5 * time.Second

// statistics are what is read of a kubelet's summary.
type statistics struct {
	Pods []podStatistics `json:"pods"`
}

type podStatistics struct {
	PodRef struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"podRef"`
	Memory struct {
		WorkingSetBytes int64 `json:"workingSetBytes"`
	} `json:"memory"`
}

// sampleMemory keeps the largest working set of each pod of the run until ctx ends.
// Shorter peaks than the kubelet's interval go unseen.
func (w *podWatch) sampleMemory(ctx context.Context) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := w.sample(ctx); err != nil && ctx.Err() == nil {
			w.fail(err)
			return
		}
	}
}

func (w *podWatch) sample(ctx context.Context) error {
	nodes, err := w.nodes(ctx)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		text, err := w.bench.typed.CoreV1().RESTClient().Get().AbsPath("/api/v1/nodes/" + node + "/proxy/stats/summary").DoRaw(ctx)
		if err != nil {
			return fmt.Errorf("reading the statistics of node %s's kubelet (needs get on nodes/proxy): %w", node, err)
		}
		var s statistics
		if err := json.Unmarshal(text, &s); err != nil {
			return fmt.Errorf("decoding the statistics of node %s: %w", node, err)
		}
		w.keepPeaks(s)
	}
	return nil
}

func (w *podWatch) keepPeaks(s statistics) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pod := range s.Pods {
		if pod.PodRef.Namespace != w.bench.runNamespace || w.run == "" || !strings.Contains(pod.PodRef.Name, string(w.run)) {
			continue
		}
		role := pod.PodRef.Name[strings.LastIndex(pod.PodRef.Name, "-")+1:]
		w.peak[role] = max(w.peak[role], pod.Memory.WorkingSetBytes)
	}
}

// nodes are those that the run's pods are on.
func (w *podWatch) nodes(ctx context.Context) ([]string, error) {
	w.mu.Lock()
	run := w.run
	w.mu.Unlock()
	if run == "" {
		return nil, nil
	}
	pods, err := w.bench.typed.CoreV1().Pods(w.bench.runNamespace).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.RunUIDLabel + "=" + string(run)})
	if err != nil {
		return nil, fmt.Errorf("listing the run's pods: %w", err)
	}
	var nodes []string
	for _, pod := range pods.Items {
		if node := pod.Spec.NodeName; node != "" && !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	return nodes, nil
}
