package agent

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

const (
	runFieldOwner = client.FieldOwner("zt-nodeagent")

	// publishInterval bounds the writes of one session: progress is for people.
	publishInterval = 500 * time.Millisecond
	// finalPublishTimeout bounds how long a finished session tries to say so. An
	// agent that cannot is found out by the operator's own bounds.
	finalPublishTimeout = 2 * time.Minute
)

// publish writes the session's record to the API while it changes. The function
// it returns writes the final record and stops.
func (h *Host) publish(s *session) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-s.record.Changed():
			case <-ctx.Done():
				return
			}
			if err := h.apply(ctx, s); err != nil && ctx.Err() == nil {
				s.log.Error(err, "publishing progress")
			}
			select {
			case <-time.After(publishInterval):
			case <-ctx.Done():
				return
			}
		}
	}()
	s.record.Update(func(*v1alpha1.ExecutionStatus) {})
	return func() {
		cancel()
		<-done
		h.publishFinal(s)
	}
}

func (h *Host) publishFinal(s *session) {
	ctx, cancel := context.WithTimeout(context.Background(), finalPublishTimeout)
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, publishInterval, true, func(ctx context.Context) (bool, error) {
		err := h.apply(ctx, s)
		if err != nil {
			s.log.V(1).Info("publishing the final record", "err", err.Error())
		}
		return err == nil, nil
	})
	if err != nil {
		s.log.Error(err, "the final record was not published")
	}
}

// apply writes the record. A run that is gone needs no record.
func (h *Host) apply(ctx context.Context, s *session) error {
	execution, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s.record.Snapshot())
	if err != nil {
		return fmt.Errorf("converting the record: %w", err)
	}
	patch := statusPatch("ZTRun", s.key.Name, map[string]any{"execution": execution})
	patch.SetNamespace(s.key.Namespace)
	// With the UID, a run of the same name that came later is never written to.
	patch.SetUID(s.uid)
	return h.applyStatus(ctx, patch, runFieldOwner)
}

func (h *Host) applyStatus(ctx context.Context, patch *unstructured.Unstructured, owner client.FieldOwner) error {
	err := h.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(patch), owner, client.ForceOwnership)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("applying status of %s %s: %w", patch.GetKind(), patch.GetName(), err)
	}
	return nil
}

func statusPatch(kind, name string, status map[string]any) *unstructured.Unstructured {
	patch := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	patch.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	patch.SetName(name)
	return patch
}
