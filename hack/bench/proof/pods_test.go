package main

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/hack/bench/report"
)

func newWatch() *podWatch {
	return &podWatch{
		bench: &bench{runNamespace: "zt-runs"}, run: "uid-1",
		created: map[string]time.Time{}, ready: map[string]time.Time{}, peak: map[string]int64{},
	}
}

func mirrorPod(run string, ready corev1.ConditionStatus) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.RunUIDLabel: run, v1alpha1.RoleLabel: v1alpha1.RoleMirror}},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
	}
}

func TestOnlyThePodsOfTheRunAreSeenAndOnce(t *testing.T) {
	w, at := newWatch(), func(ms int64) time.Time { return time.UnixMilli(ms) }
	w.see(t.Context(), mirrorPod("uid-0", corev1.ConditionTrue), at(1))
	w.see(t.Context(), mirrorPod("uid-1", corev1.ConditionFalse), at(10))
	w.see(t.Context(), mirrorPod("uid-1", corev1.ConditionTrue), at(30))
	w.see(t.Context(), mirrorPod("uid-1", corev1.ConditionTrue), at(50))
	if w.created["mirror"] != at(10) || w.ready["mirror"] != at(30) {
		t.Errorf("created %v, ready %v", w.created, w.ready)
	}
}

func TestServed(t *testing.T) {
	for name, tc := range map[string]struct {
		line string
		want bool
	}{
		"a package that was let in":     {`{"method":"GET","status":200,"rule":"allow_npm"}`, true},
		"the tunnel before it":          {`{"method":"CONNECT","status":200,"rule":"allow_connect"}`, false},
		"a request that was denied":     {`{"method":"GET","status":403,"rule":"path_not_allowed"}`, false},
		"a registry that has it not":    {`{"method":"GET","status":404,"rule":"allow_npm"}`, false},
		"the first line of the log":     {`{"v":1,"start":"6.13"}`, false},
		"a line that is cut off":        {`{"method":"GET","status":200,"ru`, false},
		"what the entry point may tell": {`squid: ended with code 0`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := served([]byte(tc.line)); got != tc.want {
				t.Errorf("%v", got)
			}
		})
	}
}

func TestARunWhoseProxyWasNotSeenHasNoFigures(t *testing.T) {
	w := newWatch()
	w.created["mirror"], w.ready["mirror"], w.ready["squid"] = time.UnixMilli(100), time.UnixMilli(900), time.UnixMilli(700)
	run := &report.Run{Name: "bench-npm", Millis: map[string]int64{}}
	if err := w.addTo(run); err == nil || !strings.Contains(err.Error(), "not seen") {
		t.Errorf("without a first package: %v", err)
	}
	w.firstPackage = time.UnixMilli(1500)
	if err := w.addTo(run); err != nil {
		t.Fatal(err)
	}
	if run.Millis["proxyPodsToReady"] != 800 || run.Millis["proxyPodsToFirstPackage"] != 1400 {
		t.Errorf("%v", run.Millis)
	}
}

func TestThePeakOfEachPodOfTheRunIsKept(t *testing.T) {
	w := newWatch()
	sample := func(name, namespace string, bytes int64) statistics {
		var p podStatistics
		p.PodRef.Name, p.PodRef.Namespace, p.Memory.WorkingSetBytes = name, namespace, bytes
		return statistics{Pods: []podStatistics{p}}
	}
	for _, s := range []statistics{
		sample("ztr-uid-1-1-mirror", "zt-runs", 5), sample("ztr-uid-1-1-mirror", "zt-runs", 9), sample("ztr-uid-1-1-mirror", "zt-runs", 7),
		sample("ztr-uid-0-1-mirror", "zt-runs", 99), sample("ztr-uid-1-1-mirror", "elsewhere", 99), sample("ztr-uid-1-1-squid", "zt-runs", 3),
	} {
		w.keepPeaks(s)
	}
	if len(w.peak) != 2 || w.peak["mirror"] != 9 || w.peak["squid"] != 3 {
		t.Errorf("%v", w.peak)
	}
}
