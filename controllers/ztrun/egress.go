package ztrun

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/policy"
)

// LogReader reads what a pod printed.
type LogReader interface {
	// Open returns at most limit bytes of the pod's log, from its beginning.
	Open(ctx context.Context, pod types.NamespacedName, limit int64) (io.ReadCloser, error)
}

// PodLogs reads logs through the API server, which asks the pod's kubelet.
type PodLogs struct{ Client kubernetes.Interface }

// Open implements LogReader.
func (l PodLogs) Open(ctx context.Context, pod types.NamespacedName, limit int64) (io.ReadCloser, error) {
	stream, err := l.Client.CoreV1().Pods(pod.Namespace).
		GetLogs(pod.Name, &corev1.PodLogOptions{LimitBytes: ptr.To(limit)}).Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the log of pod %s: %w", pod.Name, err)
	}
	return stream, nil
}

// egress sums up Squid's log and judges it again. What was summed up comes back even
// if it cannot be judged.
func (r *Reconciler) egress(ctx context.Context, s *scope) (*v1alpha1.EgressStatus, error) {
	// One byte more than is used, so that a log that is too long shows.
	log, err := r.Logs.Open(ctx, client.ObjectKeyFromObject(s.squid), maxAccessLogBytes+1)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	text, err := io.ReadAll(io.LimitReader(log, maxAccessLogBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read Squid's log: %w", err)
	}
	egress, err := policy.ParseAccessLog(bytes.NewReader(text), maxAccessLogBytes)
	if err != nil {
		return nil, fmt.Errorf("sum up Squid's log: %w", err)
	}
	evaluator, err := r.evaluator(ctx, s)
	if err != nil {
		return &egress, fmt.Errorf("audit Squid's log: %w", err)
	}
	audit, err := evaluator.Audit(bytes.NewReader(text), maxAccessLogBytes)
	if err != nil {
		return &egress, fmt.Errorf("audit Squid's log: %w", err)
	}
	egress.Audit = &audit
	return &egress, nil
}

// failuresText lists what failed requests on their way to the registries, the most
// frequent first.
func failuresText(failures []v1alpha1.FailureCount) string {
	texts := make([]string, 0, len(failures))
	for _, f := range failures {
		texts = append(texts, fmt.Sprintf("%d by %s", f.Count, f.Reason))
	}
	return strings.Join(texts, ", ")
}
