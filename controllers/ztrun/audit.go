package ztrun

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/policy"
)

// appliedKey holds, beside Squid's configuration, what it was rendered from: the
// ProxyPolicy may have changed by the time the log is judged.
const appliedKey = "applied-policy.json"

// appliedPolicy is all that an attempt's Squid was configured from.
type appliedPolicy struct {
	Policy    v1alpha1.ProxyPolicySpec `json:"policy"`
	Ecosystem v1alpha1.Ecosystem       `json:"ecosystem"`
	MirrorIP  string                   `json:"mirrorIP"`
}

func (a appliedPolicy) params() policy.SquidParams {
	return policy.SquidParams{MirrorIP: a.MirrorIP, Ecosystem: a.Ecosystem, ConfigDir: squidConfigDir, RunDir: squidRunDir}
}

func (a appliedPolicy) encode() ([]byte, error) {
	text, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("marshal the applied policy: %w", err)
	}
	return text, nil
}

// evaluator judges by the policy that this attempt's Squid was started with. It is
// rendered once more, and refused unless that gives the configuration whose digest
// was recorded before the first VM existed.
func (r *Reconciler) evaluator(ctx context.Context, s *scope) (*policy.Evaluator, error) {
	recorded := s.run.Status.Proxy
	if recorded == nil {
		return nil, errors.New("no proxy was recorded")
	}
	secret := &corev1.Secret{}
	found, err := r.read(ctx, types.NamespacedName{Namespace: r.RunNamespace, Name: s.name(objectSquidConfig)}, secret)
	if err != nil {
		return nil, fmt.Errorf("read Squid's configuration: %w", err)
	}
	if !found {
		return nil, errors.New("the Secret with Squid's configuration is gone")
	}
	return evaluatorOf(secret.Data[appliedKey], recorded)
}

func evaluatorOf(text []byte, recorded *v1alpha1.ProxyStatus) (*policy.Evaluator, error) {
	var applied appliedPolicy
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&applied); err != nil {
		return nil, fmt.Errorf("read the applied policy: %w", err)
	}
	config, err := policy.RenderSquid(applied.Policy, applied.params())
	if err != nil {
		return nil, err
	}
	mirror, _, _ := net.SplitHostPort(recorded.MirrorAddress)
	switch {
	case policy.Digest(applied.Policy) != recorded.PolicyDigest:
		return nil, fmt.Errorf("the stored policy has digest %s, %s was applied", policy.Digest(applied.Policy), recorded.PolicyDigest)
	case policy.TextDigest(config) != recorded.ConfigDigest:
		return nil, fmt.Errorf("the stored policy renders to %s, Squid was given %s", policy.TextDigest(config), recorded.ConfigDigest)
	case mirror != applied.MirrorIP:
		return nil, fmt.Errorf("the stored policy admits the mirror %s, the run's is %s", applied.MirrorIP, mirror)
	}
	return policy.NewEvaluator(applied.Policy, applied.params())
}
