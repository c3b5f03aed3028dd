package ztprofile

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/controllers/internal/baked"
	"github.com/ai-dossier/zt-operator/controllers/internal/nodes"
	"github.com/ai-dossier/zt-operator/controllers/internal/status"
)

const conflictPause = 200 * time.Millisecond

// digestVersion heads the digested form, so that a change of form changes every
// digest.
const digestVersion = "zt-profile-v1"

// SpecDigest is the SHA-256 of what nodes bake and a VM boots from: guest, runtimes
// and VM. Limits and proxy images are not part of it: changing them bakes nothing.
func SpecDigest(spec v1alpha1.ZTProfileSpec) (string, error) {
	text, err := json.Marshal(struct {
		Version  string               `json:"version"`
		Guest    v1alpha1.PinnedImage `json:"guest"`
		Runtimes []v1alpha1.Runtime   `json:"runtimes"`
		VM       v1alpha1.VMSpec      `json:"vm"`
	}{digestVersion, spec.Guest, spec.Runtimes, spec.VM})
	if err != nil {
		return "", fmt.Errorf("marshal the profile: %w", err)
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(text)), nil
}

// observe computes the profile's status from its spec, the nodes' own entries in it
// and the nodes there are.
func observe(p *v1alpha1.ZTProfile, all []corev1.Node, now time.Time) error {
	digest, err := SpecDigest(p.Spec)
	if err != nil {
		return err
	}
	p.Status.ObservedGeneration = p.Generation
	p.Status.SpecDigest = digest
	prune(p, all)
	p.Status.BakedNodes = int32(len(wantedLabels(p, all)))
	p.Status.Conditions = status.Set(p.Status.Conditions, p.Generation, now, []status.Condition{ready(p)})
	return nil
}

// prune drops the entries of nodes that no longer exist.
func prune(p *v1alpha1.ZTProfile, all []corev1.Node) {
	exists := map[string]bool{}
	for _, node := range all {
		exists[node.Name] = true
	}
	p.Status.Nodes = slices.DeleteFunc(p.Status.Nodes, func(n v1alpha1.NodeBake) bool { return !exists[n.Name] })
}

// wantedLabels maps the nodes that may run the profile's VMs to their label: ready,
// and baked for the spec as it is now.
func wantedLabels(p *v1alpha1.ZTProfile, all []corev1.Node) map[string]string {
	said := map[string]v1alpha1.NodeBake{}
	for _, n := range p.Status.Nodes {
		said[n.Name] = n
	}
	wanted := map[string]string{}
	for i := range all {
		n, ok := said[all[i].Name]
		if ok && n.State == v1alpha1.BakeBaked && n.Generation == p.Generation && nodes.Ready(&all[i]) {
			wanted[n.Name] = baked.LabelValue(p.Status.SpecDigest)
		}
	}
	return wanted
}

func ready(p *v1alpha1.ZTProfile) status.Condition {
	if p.Status.BakedNodes > 0 {
		return status.Condition{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Detail: v1alpha1.DetailProfileReady,
			Message: fmt.Sprintf("nodes that can boot its VMs: %d", p.Status.BakedNodes),
		}
	}
	message := "no node has baked this generation yet; nodes say: " + baked.NodesSaid(p)
	detail := v1alpha1.DetailNotBakedYet
	if failed := commonFailure(p); failed != "" {
		detail = failed
	}
	return status.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Detail: detail, Message: strings.TrimSpace(message)}
}

// commonFailure is the one detail with which every node failed, or empty.
func commonFailure(p *v1alpha1.ZTProfile) (common v1alpha1.Detail) {
	for _, n := range p.Status.Nodes {
		if n.State != v1alpha1.BakeFailed || n.Detail == "" || common != "" && n.Detail != common {
			return ""
		}
		common = n.Detail
	}
	return common
}
